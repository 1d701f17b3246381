"""Where values live: buffers in one arena, and arrays that stand for them before the arena exists.

While lowering, a value is an array over a region that is never written: it has the true shape, type and strides, so views are made
by making views, and costs no memory. Binding replaces the region by the arena.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.trace import Spec

ALIGNMENT = 64

_region = np.empty(0, np.uint8)


def _shadow_region(nbytes: int) -> Array:
    """A region of at least `nbytes` that nobody writes: the system gives it no memory."""
    global _region
    if _region.nbytes < nbytes:
        _region = np.empty(max(nbytes, 1 << 20), np.uint8)
    return _region


class Buffer:
    """A stretch of the arena, from the first step that writes it to the last that touches it.

    end     bytes its values take; nbytes, those it occupies: a reader may have asked for room behind them
    """

    __slots__ = ("birth", "death", "end", "nbytes", "numbers", "offset", "region")

    def __init__(self, nbytes: int) -> None:
        self.end = self.nbytes = max(nbytes, 1)
        self.region = _shadow_region(self.nbytes)
        self.birth, self.death, self.offset = -1, -1, -1
        self.numbers: list[int] = []

    def touch(self, step: int) -> None:
        """Extend the lifetime to `step`."""
        if self.birth < 0:
            self.birth = step
        self.death = max(self.death, step)


class Slot:
    """A value while lowering: a constant, or a view on a buffer.

    array   the constant, or the shadow with the final shape, type and strides
    buffer  None for a constant
    """

    __slots__ = ("array", "buffer")

    def __init__(self, array: Array, buffer: Buffer | None = None) -> None:
        self.array, self.buffer = array, buffer

    @classmethod
    def new(cls, shape: Sequence[int], dtype: Any) -> Slot:
        """A fresh contiguous value in a buffer of its own."""
        kind = np.dtype(dtype)
        nbytes = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        buffer = Buffer(nbytes)
        return cls(np.ndarray(tuple(shape), kind, buffer=buffer.region), buffer)

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.array.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @property
    def size(self) -> int:
        return self.array.size

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    @property
    def contiguous(self) -> bool:
        return self.array.flags.c_contiguous

    @property
    def constant(self) -> Array | None:
        """The array, if it is the same in every run."""
        return self.array if self.buffer is None else None

    @property
    def spec(self) -> Spec:
        return Spec(self.array.shape, self.array.dtype)

    def view(self, array: Array) -> Slot:
        """The slot of `array`, which must be a view on this one's."""
        return Slot(array, self.buffer)

    def longer(self, rows: int) -> Slot | None:
        """This value and `rows` more along its first axis, in room behind its buffer's values; None where there cannot be any."""
        buffer, array = self.buffer, self.array
        if buffer is None or not self.contiguous or not self.size:
            return None
        start = array.__array_interface__["data"][0] - buffer.region.__array_interface__["data"][0]
        shape = (self.shape[0] + rows, *self.shape[1:])
        nbytes = start + array.nbytes // self.shape[0] * shape[0]
        if start + array.nbytes != buffer.end or nbytes > buffer.region.nbytes:
            return None
        buffer.nbytes = max(buffer.nbytes, nbytes)
        return Slot(np.ndarray(shape, array.dtype, buffer.region, start), buffer)

    def bound(self, arena: Array) -> Array:
        """The real array."""
        buffer = self.buffer
        if buffer is None:
            return self.array
        shadow = self.array
        start = shadow.__array_interface__["data"][0] - buffer.region.__array_interface__["data"][0]
        if shadow.size == 0:
            return np.empty(shadow.shape, shadow.dtype)
        return np.ndarray(shadow.shape, shadow.dtype, arena, buffer.offset + start, shadow.strides)


def reshaped(array: Array, shape: Sequence[int]) -> Array | None:
    """`array` in another shape without a copy, or None where that is impossible."""
    try:
        return np.reshape(array, tuple(shape), copy=False)
    except ValueError:
        return None


MANY = 4000
"""Buffers from which on the quadratic placement is too slow."""


def place(buffers: Sequence[Buffer]) -> int:
    """Give every buffer an offset so that no two alive at the same step overlap; returns the arena's size.

    Largest first, each at the lowest place where it fits among those placed before it whose lifetimes cross its own.
    """
    if len(buffers) > MANY:
        return _place_in_time(buffers)
    placed: list[Buffer] = []
    total = 0
    for buffer in sorted(buffers, key=lambda b: (-b.nbytes, b.birth)):
        size = _rounded(buffer.nbytes)
        offset = 0
        for other in placed:  # kept sorted by offset
            if other.birth > buffer.death or other.death < buffer.birth:
                continue
            if other.offset - offset >= size:
                break
            offset = max(offset, other.offset + _rounded(other.nbytes))
        buffer.offset = offset
        total = max(total, offset + size)
        _insert(placed, buffer)
    return total


def _rounded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _insert(placed: list[Buffer], buffer: Buffer) -> None:
    low, high = 0, len(placed)
    while low < high:
        middle = (low + high) // 2
        if placed[middle].offset <= buffer.offset:
            low = middle + 1
        else:
            high = middle
    placed.insert(low, buffer)


def _place_in_time(buffers: Sequence[Buffer]) -> int:
    """First come, best fit from a list of free stretches: linear where `place` is quadratic."""
    free: list[tuple[int, int]] = []  # (size, offset)
    alive: list[tuple[int, int, int]] = []  # (death, offset, size)
    total = 0
    for buffer in sorted(buffers, key=lambda b: b.birth):
        while alive and alive[0][0] < buffer.birth:
            _, offset, size = heapq.heappop(alive)
            free.append((size, offset))
        size = _rounded(buffer.nbytes)
        fits = [stretch for stretch in free if stretch[0] >= size]
        if fits:
            best = min(fits)
            free.remove(best)
            buffer.offset, size = best[1], best[0]
        else:
            buffer.offset, total = total, total + size
        heapq.heappush(alive, (buffer.death, buffer.offset, size))
    return total
