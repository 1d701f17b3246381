"""Gathered windows ("im2col") in blocks that stay in the cache, each multiplied at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.lowering.buffers import reshaped
from exec.lowering.builder import Builder, Step
from exec.lowering.convolution.pointwise import matrices
from exec.lowering.convolution.problem import Convolution
from exec.lowering.shallow import multiply
from exec.lowering.taps import Planes, planes_of, prepared

BLOCK_BYTES = 4 << 20
"""Gathered columns held at a time: a product repacks the weights for every block, which costs more than leaving the cache."""

MOST_JUNK = 1.08
"""Results per wanted result up to which whole padded rows are multiplied rather than the windows cut out."""


def gathered(b: Builder, c: Convolution) -> None:
    """One product per group, sample and block of output rows."""
    p = planes_of(c.g, shared=True)
    whole = p.dense and p.junk <= MOST_JUNK
    k = c.weights.shape[1] * math.prod(c.g.kernel)
    row = math.prod(p.grid[1:]) if whole else math.prod(c.g.out[1:])
    most = max(1, min(c.g.out[0], BLOCK_BYTES // (4 * k * row)))
    rows = -(-c.g.out[0] // -(-c.g.out[0] // most))
    tail = max(0, max(p.offsets) + c.g.out[0] * row - p.plane) if whole else 0
    x = prepared(b, c.x, p, tail)
    cut = whole and p.junk > 1
    biased = c.bias is not None and not cut
    columns = b.scratch((k + biased, rows * row))
    weights = b.constant(matrices(b, c, biased=biased))
    if cut:
        product = b.scratch((c.weights.shape[0] // c.group, rows * row))
        bias = None if c.bias is None else c.bias.reshape(c.group, -1, *[1] * c.g.rank)
        b.emit(partial(_cut, p, rows, b.threads, bias), c.out, weights, x, columns, product)
    else:
        b.emit(partial(_direct, p, rows, whole, b.threads), c.out, weights, x, columns)


def blocks(p: Planes, x: Array, group: int, rows: int) -> Iterator[tuple[int, int, Array, int, int]]:
    """(sample, group, planes, first row, rows) of every product; planes (channels, plane) lie contiguously."""
    channels = x.shape[1] // group
    for sample in range(x.shape[0]):
        for k in range(group):
            planes = x[sample, k * channels : (k + 1) * channels]
            for first in range(0, p.g.out[0], rows):
                yield sample, k, planes, first, min(rows, p.g.out[0] - first)


def gathering(p: Planes, planes: Array, columns: Array, first: int, rows: int, whole: bool) -> list[Step]:
    """Copies of `rows` output rows' windows from `planes` (channels, plane) into `columns` (channels·taps, room).

    whole  contiguous runs, junk included; else the windows' own elements only
    """
    g, item = p.g, planes.itemsize
    channels = planes.shape[0]
    pitches = [math.prod(p.size[k + 1 :]) for k in range(g.rank)]
    flat = planes.reshape(-1)[first * pitches[0] * p.steps[0] :]
    inner = (rows * pitches[0],) if whole else (rows, *g.out[1:])
    steps = (item,) if whole else tuple(item * pitch * step for pitch, step in zip(pitches, p.steps, strict=True))
    places = math.prod(inner)

    def copy(offset: int, axes: tuple[int, ...], strides: tuple[int, ...], target: Array) -> Step:
        shape = (channels, *axes, *inner)
        source = np.lib.stride_tricks.as_strided(
            flat[offset:], shape, (item * p.plane, *strides, *steps), writeable=False
        )
        return partial(np.copyto, target if target.shape == shape else split_last(target, inner), source)

    if math.prod(p.phases) == 1:  # the taps lie at regular distances: one copy
        strides = tuple(item * d * pitch for d, pitch in zip(g.dilations, pitches, strict=True))
        return [copy(0, g.kernel, strides, columns.reshape(channels, *g.kernel, -1)[..., :places])]
    # Taps of one phase lie at regular distances, so each phase is a copy.
    by_tap = columns.reshape(channels, *g.kernel, -1)[..., :places]
    result = []
    for phase in np.ndindex(p.phases):
        chosen = [_regular(*axis) for axis in zip(g.kernel, g.dilations, p.phases, phase, strict=True)]
        if any(c.start >= c.stop for c in chosen):
            continue
        picked = by_tap[(slice(None), *chosen)]
        first = int(np.ravel_multi_index([c.start for c in chosen], g.kernel))
        jumps = [c.step * d // s for c, d, s in zip(chosen, g.dilations, p.phases, strict=True)]
        strides = tuple(item * jump * pitch for jump, pitch in zip(jumps, pitches, strict=True))
        result.append(copy(p.offsets[first], picked.shape[1 : 1 + g.rank], strides, picked))
    return result


def split_last(array: Array, inner: tuple[int, ...]) -> Array:
    """The last axis as several; a view, since it is contiguous."""
    steps = [array.itemsize * math.prod(inner[k + 1 :]) for k in range(len(inner))]
    return np.lib.stride_tricks.as_strided(
        array, (*array.shape[:-1], *inner), (*array.strides[:-1], *steps), writeable=True
    )


def _regular(kernel: int, dilation: int, split: int, phase: int) -> slice:
    """The taps of an axis that lie in `phase`: every so many from the first on."""
    step = split // math.gcd(dilation, split)
    first = next((k for k in range(min(step, kernel)) if k * dilation % split == phase), kernel)
    return slice(first, kernel, step)


def _cut(
    p: Planes,
    rows: int,
    threads: int,
    bias: Array | None,
    out: Array,
    weights: Array,
    x: Array,
    columns: Array,
    product: Array,
) -> list[Step]:
    """Multiply whole rows; cutting the junk off and adding the bias are one pass."""
    group, each = weights.shape[:2]
    row = math.prod(p.size[1:])
    target = out.reshape(out.shape[0], group, each, *p.g.out)
    kept: list[Any] = [slice(0, o) for o in p.g.out[1:]]
    steps: list[Step] = []
    for sample, k, planes, first, count in blocks(p, x, group, rows):
        places = count * row
        steps += gathering(p, planes, columns, first, count, True)
        steps += multiply(weights[k], columns[:, :places], product[:, :places], threads)
        made = reshaped(product[:, :places], (each, count, *p.size[1:]))
        assert made is not None
        place = target[sample, k][:, first : first + count]
        cut = made[(slice(None), slice(None), *kept)]
        steps.append(partial(np.copyto, place, cut) if bias is None else partial(np.add, cut, bias[k], place))
    return steps


def _direct(
    p: Planes, rows: int, whole: bool, threads: int, out: Array, weights: Array, x: Array, columns: Array
) -> list[Step]:
    """Multiply straight into the output."""
    group, each = weights.shape[:2]
    row = math.prod(p.g.out[1:])
    target = out.reshape(out.shape[0], group, each, -1)
    taps = x.shape[1] // group * math.prod(p.g.kernel)
    steps: list[Step] = [partial(columns[taps].fill, 1)] if columns.shape[0] > taps else []
    for sample, k, planes, first, count in blocks(p, x, group, rows):
        steps += gathering(p, planes, columns[:taps], first, count, whole)
        place = target[sample, k][:, first * row : (first + count) * row]
        steps += multiply(weights[k], columns[:, : count * row], place, threads)
    return steps
