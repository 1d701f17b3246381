"""Changes to a ModelProto that keep it parseable: random bytes rarely get past the wire format, and the interesting code is behind it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import onnx

NUMBERS = (0, 1, -1, 2, 3, 7, 13, 17, 21, 64, 255, 999, 1 << 31, (1 << 31) - 1, -(1 << 31), (1 << 63) - 1, -(1 << 63))
TEXTS = (
    "",
    "x",
    "y",
    "Add",
    "Conv",
    "Reshape",
    "Loop",
    "If",
    "ai.onnx",
    "com.microsoft",
    "axis",
    "../x",
    "[b]",
    "\x1b[0m",
    "n" * 300,
)
_REAL = (1, 2)
_WHOLE = (3, 4, 5, 6, 7, 13, 14, 15, 16, 17, 18)
_BOOL, _STRING, _MESSAGE, _BYTES = 8, 9, 11, 12


def mutate(data: bytes, rng: random.Random, most: int = 1 << 16) -> bytes:
    """A model like `data`, with a few fields changed, dropped, doubled or copied from elsewhere; bytes where it is no model."""
    try:
        proto = onnx.ModelProto.FromString(data)
    except Exception:
        return _bytes(data, rng)
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        messages = list(_messages(proto))
        _change(rng.choice(messages), messages, rng)
    try:
        changed = bytes(proto.SerializeToString())
    except Exception:
        return _bytes(data, rng)
    return changed if len(changed) <= most else data


def _messages(root: Any) -> Iterator[Any]:
    left = [root]
    while left:
        message = left.pop()
        yield message
        for field, value in message.ListFields():
            if field.type == _MESSAGE:
                left.extend(value if field.is_repeated else [value])


def _change(message: Any, all_of_them: list[Any], rng: random.Random) -> None:
    field = rng.choice(message.DESCRIPTOR.fields)
    kind = rng.random()
    if kind < 0.15:
        message.ClearField(field.name)
    elif field.type == _MESSAGE:
        _change_message(message, field, all_of_them, rng)
    elif field.is_repeated:
        values = getattr(message, field.name)
        if len(values) and kind < 0.5:
            values[rng.randrange(len(values))] = _value(field, rng, values)
        elif len(values) and kind < 0.65:
            del values[rng.randrange(len(values))]
        else:
            values.extend([_value(field, rng, values) for _ in range(rng.choice((1, 1, 2, 5)))])
    else:
        setattr(message, field.name, _value(field, rng, [getattr(message, field.name)]))


def _change_message(message: Any, field: Any, all_of_them: list[Any], rng: random.Random) -> None:
    like = [m for m in all_of_them if m.DESCRIPTOR is field.message_type and m.ByteSize() < 4096]
    source = _copy(rng.choice(like)) if like else None  # a message must not be copied into itself
    if not field.is_repeated:
        target = getattr(message, field.name)
        target.CopyFrom(source) if source is not None else target.SetInParent()
        return
    values = getattr(message, field.name)
    if len(values) > 1 and rng.random() < 0.4:
        at, to = rng.randrange(len(values)), rng.randrange(len(values))
        kept = _copy(values[at])
        values[at].CopyFrom(values[to])
        values[to].CopyFrom(kept)
    elif len(values) and rng.random() < 0.4:
        del values[rng.randrange(len(values))]
    else:
        added = values.add()
        if source is not None:
            added.CopyFrom(source)


def _copy(message: Any) -> Any:
    made = type(message)()
    made.CopyFrom(message)
    return made


def _value(field: Any, rng: random.Random, present: Any) -> Any:
    if field.type in _REAL:
        return rng.choice((0.0, -0.0, 1.0, float("nan"), float("inf"), 1e38))
    if field.enum_type is not None:
        return rng.choice(field.enum_type.values).number
    if field.type == _BOOL:
        return rng.random() < 0.5
    if field.type in _WHOLE:
        number = rng.choice(NUMBERS)
        return (
            number
            if field.type in (3, 16, 18)
            else max(min(number, (1 << 31) - 1), -(1 << 31) if field.type in (5, 15, 17) else 0)
        )
    text = rng.choice([*TEXTS, *[value for value in present if isinstance(value, str)]])
    if field.type == _STRING:
        return text
    return rng.choice(
        [
            text.encode(),
            rng.randbytes(rng.randrange(40)),
            *[v[: rng.randrange(len(v) + 1)] for v in present if isinstance(v, bytes)],
        ]
    )


def _bytes(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data or b"\0")
    for _ in range(rng.choice((1, 2, 8))):
        at = rng.randrange(len(out))
        out[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(4))
        out = out or bytearray(b"\0")
    return bytes(out)
