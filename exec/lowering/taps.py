"""The input of a sliding window as flat planes, where every tap is a shift.

A padded plane read as one long row turns tap (i, j) into the offset i·pitch + j: windows become contiguous runs, at the price of
`pitch − width` junk results per row. A strided window becomes an unstrided one by splitting the plane into its phases first:
elements whose coordinates agree modulo the stride lie together. Rows may share their padding: what is right of one is left of the
next.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.kernels.nn.window import Window
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step


@dataclass(frozen=True, slots=True)
class Planes:
    """How the prepared input lies.

    g        the window
    phases   per axis, the stride it was split by; 1 where it was not
    size     per axis, elements of one phase
    offsets  per tap in row-major order, its shift inside a channel's planes
    beyond   elements a window may reach beyond the last plane, where rows share their padding
    """

    g: Window
    phases: tuple[int, ...]
    size: tuple[int, ...]
    offsets: tuple[int, ...]
    beyond: int = 0

    @property
    def plane(self) -> int:
        """Elements of one channel, all phases."""
        return math.prod(self.phases) * math.prod(self.size)

    @property
    def steps(self) -> tuple[int, ...]:
        """Per axis, the distance between windows inside a phase."""
        return tuple(s // p for s, p in zip(self.g.strides, self.phases, strict=True))

    @property
    def dense(self) -> bool:
        """Whether neighbouring windows begin at neighbouring elements."""
        return all(s == 1 for s in self.steps)

    @property
    def grid(self) -> tuple[int, ...]:
        """The result with its junk: all axes but the first as long as a phase."""
        return (self.g.out[0], *self.size[1:])

    @property
    def run(self) -> int:
        """Elements from the first result to the last, junk between rows included."""
        pitch, last = 1, 0
        for out, size in zip(reversed(self.g.out), reversed(self.size), strict=True):
            last += (out - 1) * pitch
            pitch *= size
        return last + 1

    @property
    def junk(self) -> float:
        """Results computed per result wanted."""
        return math.prod(self.grid) / max(math.prod(self.g.out), 1)


MOST_PHASES = 4

FEWEST_REUSES = 1.5
"""Windows an element must lie in, on average, for splitting to be worth its pass over the input."""


def planes_of(g: Window, *, shared: bool = False) -> Planes:
    """The layout for a window: split into phases where a few of them are each read by several taps.

    shared  rows share their padding; a reader must then take the planes of all channels as one array
    """
    reuse = math.prod(g.kernel) / math.prod(g.strides)
    split = math.prod(g.strides) <= MOST_PHASES and reuse >= FEWEST_REUSES
    phases = g.strides if split else (1,) * g.rank
    needed = [max(n, s + b) for n, s, b in zip(g.needed, g.size, g.before, strict=True)]
    beyond = 0
    if shared and phases[-1] == 1:
        beyond = min(g.before[-1], needed[-1] - g.size[-1] - g.before[-1])
        needed[-1] -= beyond
    size = tuple(-(-n // p) for n, p in zip(needed, phases, strict=True))
    pitches = [math.prod(size[k + 1 :]) for k in range(len(size))]
    steps = [math.prod(phases[k + 1 :]) * math.prod(size) for k in range(len(size))]
    offsets = []
    for index in np.ndindex(g.kernel):
        places = [i * d for i, d in zip(index, g.dilations, strict=True)]
        offsets.append(
            sum(
                (place % p) * step + (place // p) * pitch
                for place, p, step, pitch in zip(places, phases, steps, pitches, strict=True)
            )
        )
    return Planes(g, phases, size, tuple(offsets), beyond)


def lies_so(x: Slot, p: Planes) -> bool:
    """Whether `x` already is what `filling` would make."""
    return p.g.unpadded and p.size == p.g.size and x.contiguous and math.prod(p.phases) == 1


def prepared(b: Builder, x: Slot, p: Planes, tail: int = 0, value: float = 0.0) -> Slot:
    """`x` (N, C, *size) as (N, C, plane), padded and split; `x` itself where it already lies so.

    tail   elements that must be readable after the last plane: a run may reach beyond it by its junk
    value  what the padding holds
    """
    n, channels = x.shape[:2]
    tail = max(tail, p.beyond)
    if tail == 0 and lies_so(x, p):
        return x.view(x.array.reshape(n, channels, -1))
    flat = b.scratch((n * channels * p.plane + tail,), x.dtype)
    body = flat.view(flat.array[: n * channels * p.plane].reshape(n, channels, p.plane))
    b.emit(lambda flat, x: filling(p, flat, x, value), flat, x)
    return body


def filling(p: Planes, flat: Array, x: Array, value: float = 0.0, *, padded: bool = False) -> list[Step]:
    """Copy x (N, C, *size) to the front of `flat`, padded and split.

    padded  the padding is there already
    """
    g, rank = p.g, p.g.rank
    n, channels = x.shape[:2]
    body = flat[: n * channels * p.plane]
    full = tuple(a * s for a, s in zip(p.phases, p.size, strict=True))
    steps: list[Step] = []
    if not padded and (any(g.before) or full != g.size or flat.size > body.size):
        steps.append(partial(flat.fill, value))
    if math.prod(p.phases) == 1:
        target = body.reshape(n, channels, *p.size)
        inner: list[Any] = [slice(a, a + s) for a, s in zip(g.before, g.size, strict=True)]
        steps.append(partial(np.copyto, target[(..., *inner)], x))
        return steps
    # One copy per phase: the elements of x whose padded coordinate is `phase` modulo the stride.
    split = body.reshape(n, channels, *p.phases, *p.size)
    for phase in np.ndindex(p.phases):
        source: list[Any] = []
        target_index: list[Any] = []
        for k in range(rank):
            first = -(-max(g.before[k] - phase[k], 0) // p.phases[k])
            start = first * p.phases[k] + phase[k] - g.before[k]
            count = max(0, -(-(g.size[k] - start) // p.phases[k]))
            count = min(count, p.size[k] - first)
            source.append(slice(start, start + (count - 1) * p.phases[k] + 1, p.phases[k]) if count else slice(0, 0))
            target_index.append(slice(first, first + count))
        steps.append(partial(np.copyto, split[(slice(None), slice(None), *phase, *target_index)], x[(..., *source)]))
    return steps
