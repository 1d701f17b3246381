"""A depthwise convolution as one small product per channel, over windows gathered by cache-sized blocks.

numpy has no fused multiply-add: a pass per tap that multiplies and one that adds cost three to five times what gathering the taps and
letting BLAS sum them does. Large kernels gather along rows only, let BLAS make one partial result per row of the kernel, and add those.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.lowering.buffers import reshaped
from exec.lowering.builder import Builder, Step
from exec.lowering.convolution.gathered import gathering
from exec.lowering.convolution.pointwise import matrices
from exec.lowering.convolution.problem import Convolution
from exec.lowering.taps import Planes, filling, lies_so, planes_of

BLOCK_BYTES = 384 << 10

MOST_JUNK = 1.2

MANY_TAPS, LARGE_PLANE = 25, 8192
"""Taps, or places of a plane, from which on a gather per row of the kernel costs less than one per tap."""


def depthwise(b: Builder, c: Convolution) -> None:
    """Blocks of channels, and of rows where one channel is too large: pad, gather, multiply, put in place."""
    p = planes_of(c.g, shared=True)
    if c.g.rank == 2 and p.dense and math.prod(p.phases) == 1 and _rows_pay(c):
        _by_rows(b, c, p)
        return
    whole = p.dense and p.junk <= MOST_JUNK
    taps = math.prod(c.g.kernel)
    row = math.prod(p.grid[1:]) if whole else math.prod(c.g.out[1:])
    rows = max(1, min(c.g.out[0], BLOCK_BYTES // (4 * taps * row)))
    rows = -(-c.g.out[0] // -(-c.g.out[0] // rows))
    channels = c.x.shape[1]
    together = max(1, min(channels, BLOCK_BYTES // (4 * taps * row * rows))) if rows == c.g.out[0] else 1
    tail = max(p.beyond, max(p.offsets) + c.g.out[0] * row - p.plane) if whole else p.beyond
    ready = tail <= 0 and lies_so(c.x, p)
    room = b.scratch((1 if ready else together * p.plane + max(tail, 0),))
    each = c.weights.shape[0] // channels
    weights = b.constant(matrices(b, c, biased=c.bias is not None))  # the bias is one more tap, on ones
    columns, product = b.scratch((together, weights.shape[2], rows * row)), b.scratch((together, each, rows * row))
    b.emit(partial(_blocks, p, whole, ready, rows), c.out, weights, c.x, room, columns, product)


def _rows_pay(c: Convolution) -> bool:
    """Whether to gather rows only: not where the plane is flatter than the kernel, whose partial rows are mostly beyond it."""
    taps, places = math.prod(c.g.kernel), math.prod(c.g.out)
    return c.g.out[0] >= c.g.kernel[0] and (taps >= MANY_TAPS or (taps > 1 and places >= LARGE_PLANE))


def _blocks(
    p: Planes,
    whole: bool,
    ready: bool,
    rows: int,
    out: Array,
    weights: Array,
    x: Array,
    room: Array,
    columns: Array,
    product: Array,
) -> list[Step]:
    g, taps = p.g, math.prod(p.g.kernel)
    channels, each, inputs = weights.shape
    together = product.shape[0]
    inner = p.size[1:] if whole else g.out[1:]
    row = math.prod(inner)
    target = out.reshape(out.shape[0], channels, each, *g.out)
    kept: list[Any] = [slice(0, o) for o in g.out[1:]]
    steps: list[Step] = [partial(columns[:, taps].fill, 1)] if inputs > taps else []
    fresh = True
    for sample in range(x.shape[0]):
        for low in range(0, channels, together):
            high = min(low + together, channels)
            some = high - low
            if ready:
                planes = x[sample, low:high].reshape(some, -1)
            else:
                steps += filling(p, room, x[sample : sample + 1, low:high], padded=not fresh)
                planes, fresh = room[: some * p.plane].reshape(some, p.plane), False
            for first in range(0, g.out[0], rows):
                count = min(rows, g.out[0] - first)
                places = count * row
                steps += gathering(p, planes, columns[:some, :taps], first, count, whole)
                gathered = columns[:some, :, :places]
                made = product[:some, :, :places]
                steps.append(partial(np.matmul, weights[low:high], gathered, made))
                grid = reshaped(made, (some, each, count, *inner))
                assert grid is not None
                cut = grid[(slice(None), slice(None), slice(None), *kept)]
                steps.append(partial(np.copyto, target[sample, low:high, :, first : first + count], cut))
    return steps


def _by_rows(b: Builder, c: Convolution, p: Planes) -> None:
    """Blocks of channels: pad, gather the taps of a kernel row, multiply, add the rows up in place."""
    (tall, wide), channels = c.g.kernel, c.x.shape[1]
    each = c.weights.shape[0] // channels
    together = max(1, min(channels, BLOCK_BYTES // (4 * p.plane * wide)))
    weights = b.constant(
        b.packs.get(c.source, "by rows", lambda: np.ascontiguousarray(c.weights.reshape(channels, each * tall, wide)))
    )
    room = b.scratch((together * p.plane + (wide - 1) * c.g.dilations[1],))
    columns, product = b.scratch((together, wide, p.plane)), b.scratch((together, each * tall, p.plane))
    total = b.scratch((together, each, p.g.out[0] * p.size[1]))
    bias = None if c.bias is None else c.bias.reshape(channels, each, 1, 1)
    b.emit(partial(_row_blocks, p, bias), c.out, weights, c.x, room, columns, product, total)


def _row_blocks(
    p: Planes,
    bias: Array | None,
    out: Array,
    weights: Array,
    x: Array,
    room: Array,
    columns: Array,
    product: Array,
    total: Array,
) -> list[Step]:
    g, item = p.g, x.itemsize
    (tall, wide), channels, together = g.kernel, weights.shape[0], columns.shape[0]
    each, pitch = weights.shape[1] // tall, p.size[1]
    target = out.reshape(out.shape[0], channels, each, *g.out)
    steps: list[Step] = []
    for sample in range(x.shape[0]):
        for low in range(0, channels, together):
            high = min(low + together, channels)
            some = high - low
            steps += filling(p, room, x[sample : sample + 1, low:high], padded=bool(steps))
            shifted = np.lib.stride_tricks.as_strided(
                room, (some, wide, p.plane), (item * p.plane, item * g.dilations[1], item), writeable=False
            )
            steps.append(partial(np.copyto, columns[:some], shifted))
            steps.append(partial(np.matmul, weights[low:high], columns[:some], product[:some]))
            made = product[:some].reshape(some, each, tall, -1)
            firsts = [row * g.dilations[0] * pitch for row in range(tall)]
            rows = [made[:, :, row, first : first + total.shape[2]] for row, first in enumerate(firsts)]
            added = total[:some]
            steps.append(partial(np.add, rows[0], rows[1], added) if tall > 1 else partial(np.copyto, added, rows[0]))
            steps += [partial(np.add, added, row, added) for row in rows[2:]]
            cut = added.reshape(some, each, g.out[0], pitch)[..., : g.out[1]]
            place = target[sample, low:high]
            steps.append(
                partial(np.copyto, place, cut) if bias is None else partial(np.add, cut, bias[low:high], place)
            )
    return steps
