"""What a file says of itself on the first look: no library is loaded for it and no weight is read, so that a screen has something to show
while the model is opened. It judges nothing: a file that cannot be read here is left to the loader, which says why.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from exec.ir import fs

_MOST_BYTES = 128 << 20
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True, slots=True)
class Glance:
    """The top level of a model file.

    inputs, outputs  (name, dims); a dim is an int, a name or None; dims are None where the file does not say
    operators        ((op, domain), nodes) of the main graph, Constant nodes too, the most frequent first
    """

    file_bytes: int
    producer: str
    ir_version: int
    opsets: dict[str, int]
    inputs: tuple[tuple[str, tuple[int | str | None, ...] | None], ...]
    outputs: tuple[tuple[str, tuple[int | str | None, ...] | None], ...]
    operators: tuple[tuple[tuple[str, str], int], ...]
    initializers: int


class _NotProtobufError(Exception):
    """The bytes are no message of the kind that is looked for."""


def glance(path: str | Path) -> Glance | None:
    """Look at a file; None where it is no model, is larger than a look should take, or is not there."""
    try:
        number = fs.open_file(Path(path))
    except (OSError, ValueError):
        return None
    with os.fdopen(number, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > _MOST_BYTES:
            return None
        try:
            return _model(file.read())
        except (_NotProtobufError, OSError, IndexError):
            return None


def _model(data: bytes) -> Glance:
    producer, ir_version, opsets = "", 0, {}
    graph: tuple[int, int] | None = None
    for number, start, end in _fields(data, 0, len(data)):
        if number == 1:
            ir_version = start
        elif number == 2:
            producer = _text(data, start, end)
        elif number == 7:
            graph = (start, end)
        elif number == 8:
            parts = {n: (a, b) for n, a, b in _fields(data, start, end)}
            opsets[_text(data, *parts[1]) if 1 in parts else ""] = parts[2][0] if 2 in parts else 0
    if graph is None or not opsets:
        raise _NotProtobufError
    counts: Counter[tuple[str, str]] = Counter()
    values: dict[int, list[tuple[int, int]]] = {5: [], 11: [], 12: []}
    for number, start, end in _fields(data, *graph):
        if number == 1:
            counts[_operator(data, start, end)] += 1
        elif number in values:
            values[number].append((start, end))
    weights = {_named(data, 8, *span) for span in values[5]}
    ports = {n: tuple(_port(data, *span) for span in values[n]) for n in (11, 12)}
    inputs = tuple(port for port in ports[11] if port[0] not in weights)
    return Glance(
        len(data), producer, ir_version, opsets, inputs, ports[12], tuple(counts.most_common()), len(values[5])
    )


def _operator(data: bytes, start: int, end: int) -> tuple[str, str]:
    op = domain = ""
    for number, a, b in _fields(data, start, end):
        if number == 4:
            op = _text(data, a, b)
        elif number == 7:
            domain = _text(data, a, b)
    return op, domain


def _named(data: bytes, wanted: int, start: int, end: int) -> str:
    return next((_text(data, a, b) for number, a, b in _fields(data, start, end) if number == wanted), "")


def _port(data: bytes, start: int, end: int) -> tuple[str, tuple[int | str | None, ...] | None]:
    """ValueInfo: its name, and the dims of its tensor type."""
    name, shape = "", None
    for number, a, b in _fields(data, start, end):
        if number == 1:
            name = _text(data, a, b)
        elif number == 2:
            shape = _inside(data, (a, b), (1, 2))
    if shape is None:
        return name, None
    return name, tuple(_dim(data, a, b) for number, a, b in _fields(data, *shape) if number == 1)


def _inside(data: bytes, span: tuple[int, int], path: tuple[int, ...]) -> tuple[int, int] | None:
    """The message found by going down field numbers."""
    at: tuple[int, int] | None = span
    for wanted in path:
        at = None if at is None else next(((a, b) for number, a, b in _fields(data, *at) if number == wanted), None)
    return at


def _dim(data: bytes, start: int, end: int) -> int | str | None:
    for number, a, b in _fields(data, start, end):
        if number == 1:
            return a
        if number == 2:
            return _text(data, a, b) or None
    return None


def _text(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode("utf-8", "surrogateescape")


def _fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(number, start, end) of each field; a number's value stands in place of its start."""
    at = start
    while at < end:
        tag = data[at]
        at += 1
        if tag > 127:
            tag, at = _varint(data, at - 1)
        kind = tag & 7
        if kind == _BYTES:
            length = data[at]
            at += 1
            if length > 127:
                length, at = _varint(data, at - 1)
            if at + length > end:
                raise _NotProtobufError
            yield tag >> 3, at, at + length
            at += length
        elif kind == _VARINT:
            value, at = _varint(data, at)
            yield tag >> 3, value, at
        elif kind in (_FIXED32, _FIXED64):
            at += 4 if kind == _FIXED32 else 8
        else:
            raise _NotProtobufError
    if at != end:
        raise _NotProtobufError


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise _NotProtobufError
