"""Weights read a part at a time: a look at 100 GB of values keeps a few MB of them, and leaves no pages mapped."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from exec import dtypes
from exec.arrays import Array
from exec.ir.weights import Weight

PART_BYTES = 1 << 19
"""As much as stays in a second-level cache while several questions are asked of it."""

_EDGE = 2048
_SPOTS = 32


def parts(values: Array | Weight, length: int = PART_BYTES) -> Iterator[Array]:
    """The values in order, flat, about `length` bytes at a time; a part is gone once the next is asked for.

    Raises `ExternalDataError` where the bytes are in a file that is not there.
    """
    place = _to_stream(values)
    if place is None:
        yield from _slices(values, length)
        return
    source, offset, total, row = place
    source.check_unchanged()
    step = max(length // row.numpy.itemsize, 1) * row.numpy.itemsize
    buffer = np.empty(min(step, total), np.uint8).data
    for start in range(0, total, step):
        part = buffer[: min(step, total - start)]
        source.read_into(offset + start, part)
        yield dtypes.from_bytes(part, row, (len(part) // row.numpy.itemsize,))
    source.check_unchanged()


def sampled(values: Array | Weight) -> bytes:
    """A digest of the first bytes, the last and some between: differs for most weights that do, and reads 8 kB."""
    place = _to_stream(values)
    if place is None:
        array = values.load() if isinstance(values, Weight) else values
        if array.dtype.kind == "O":
            return _digest("\x00".join(map(str, array.reshape(-1)[:64])).encode("utf-8", "surrogateescape"))
        data = _bytes_of(array)
        return _digest(*(data[a:b] for a, b in _spots(len(data))))
    source, offset, total, _ = place
    return _digest(*(source.read(offset + a, b - a) for a, b in _spots(total)))


def equal(one: Array | Weight, other: Array | Weight) -> bool:
    """Whether two values have the same type, shape and bytes; nothing is read where they are the same bytes of one file."""
    if one is other:
        return True
    if one.dtype != other.dtype or tuple(one.shape) != tuple(other.shape):
        return False
    if isinstance(one, Weight) and isinstance(other, Weight):
        places = one.place(), other.place()
        if places[0] is not None and places[1] is not None:
            a, b = ((p.source.identity, p.source.stamp, p.offset, p.length) for p in places if p is not None)
            if a == b:
                return True
    if one.dtype == object:
        return all(np.array_equal(a, b) for a, b in zip(parts(one), parts(other), strict=True))
    return all(np.array_equal(_bytes_of(a), _bytes_of(b)) for a, b in zip(parts(one), parts(other), strict=True))


def _to_stream(values: Any) -> tuple[Any, int, int, dtypes.DType] | None:
    """(file, offset, length, type) of values that are better read than loaded; None for those in memory or packed."""
    if type(values) is not Weight or values.is_loaded or values.nbytes <= PART_BYTES:
        return None
    row = values.checked()
    place = values.place()
    if place is None or row.bits < 8:
        return None
    return place.source, place.offset, place.length, row


def _slices(values: Array | Weight, length: int) -> Iterator[Array]:
    array = values.load() if isinstance(values, Weight) else values
    flat = array.reshape(-1)
    step = max(length // max(array.itemsize, 1), 1)
    for start in range(0, flat.size, step):
        yield flat[start : start + step]


def _bytes_of(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _spots(length: int) -> list[tuple[int, int]]:
    """Ranges of bytes to sample; all of a short value."""
    if length <= 4 * _EDGE:
        return [(0, length)]
    between = [length * k // _SPOTS // 64 * 64 for k in range(1, _SPOTS)]
    return [(0, _EDGE), *((at, at + 64) for at in between), (length - _EDGE, length)]


def _digest(*parts: Any) -> bytes:
    made = hashlib.blake2b(digest_size=12)
    for part in parts:
        made.update(part)
    return made.digest()
