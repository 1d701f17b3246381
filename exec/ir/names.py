"""Names that are not UTF-8.

Protobuf hands such a string out as bytes and refuses to take it back. In the graph they are str with surrogate escapes; here they
come in and go out unchanged, written as hand-made wire fields where protobuf would refuse.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

M = TypeVar("M")


def copy_of(message: M) -> M:
    """A copy of a protobuf message."""
    twin: Any = type(message)()
    twin.CopyFrom(message)
    copied: M = twin
    return copied


def text(value: str | bytes) -> str:
    """A string field's value as str; bytes that are no UTF-8 become surrogate escapes."""
    return value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")


def to_bytes(value: str) -> bytes:
    """The bytes a str of this model stands for."""
    return value.encode("utf-8", "surrogateescape")


def is_utf8(value: str) -> bool:
    """Whether a name can be printed and stored as it is."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def printable(value: str) -> str:
    """A name as a message may show it: escaped where it has more than printable characters."""
    return value if value.isprintable() else repr(value)[1:-1]


def set_text(message: Any, field: str, value: str) -> None:
    """Set a singular string field."""
    if value.isascii() or is_utf8(value):
        setattr(message, field, value)
    else:
        message.ClearField(field)
        message.MergeFromString(_wire_field(message, field, value))


def set_texts(message: Any, field: str, values: Iterable[str]) -> None:
    """Replace the elements of a repeated string field."""
    message.ClearField(field)
    values = list(values)
    if all(value.isascii() or is_utf8(value) for value in values):
        getattr(message, field).extend(values)
    else:
        message.MergeFromString(b"".join(_wire_field(message, field, value) for value in values))


def _wire_field(message: Any, field: str, value: str) -> bytes:
    payload = to_bytes(value)
    return varint(message.DESCRIPTOR.fields_by_name[field].number << 3 | 2) + varint(len(payload)) + payload


def varint(number: int) -> bytes:
    """A protobuf base-128 integer."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
