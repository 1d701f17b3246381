"""A depthwise convolution as one small matrix-vector product per channel, over windows gathered by cache-sized blocks.

numpy has no fused multiply-add: a pass per tap that multiplies and one that adds cost three to five times what gathering the taps and
letting BLAS sum them does.
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
from exec.lowering.convolution.problem import Convolution
from exec.lowering.taps import Planes, planes_of, prepared

BLOCK_BYTES = 256 << 10

MOST_JUNK = 1.2


def depthwise(b: Builder, c: Convolution) -> None:
    """Blocks of channels, and of rows where one channel is too large."""
    p = planes_of(c.g)
    whole = p.dense and p.junk <= MOST_JUNK
    taps = math.prod(c.g.kernel)
    row = math.prod(p.grid[1:]) if whole else math.prod(c.g.out[1:])
    rows = max(1, min(c.g.out[0], BLOCK_BYTES // (4 * taps * row)))
    rows = -(-c.g.out[0] // -(-c.g.out[0] // rows))
    channels = c.x.shape[1]
    together = max(1, min(channels, BLOCK_BYTES // (4 * taps * row * rows))) if rows == c.g.out[0] else 1
    tail = max(0, max(p.offsets) + c.g.out[0] * row - p.plane) if whole else 0
    x = prepared(b, c.x, p, tail)
    each = c.weights.shape[0] // channels
    weights = b.constant(
        b.packs.get(c.source, "depthwise", lambda: np.ascontiguousarray(c.weights.reshape(channels, each, taps)))
    )
    columns, product = b.scratch((together * taps, rows * row)), b.scratch((together, each, rows * row))
    bias = None if c.bias is None else c.bias.reshape(channels, each, *[1] * c.g.rank)
    b.emit(partial(_blocks, p, whole, rows, together, bias), c.out, weights, x, columns, product)


def _blocks(
    p: Planes,
    whole: bool,
    rows: int,
    together: int,
    bias: Array | None,
    out: Array,
    weights: Array,
    x: Array,
    columns: Array,
    product: Array,
) -> list[Step]:
    g = p.g
    channels, each, taps = weights.shape
    inner = p.size[1:] if whole else g.out[1:]
    row = math.prod(inner)
    target = out.reshape(out.shape[0], channels, each, *g.out)
    kept: list[Any] = [slice(0, o) for o in g.out[1:]]
    steps: list[Step] = []
    for sample in range(x.shape[0]):
        for low in range(0, channels, together):
            high = min(low + together, channels)
            for first in range(0, g.out[0], rows):
                count = min(rows, g.out[0] - first)
                places, some = count * row, high - low
                steps += gathering(p, x[sample, low:high], columns[: some * taps], first, count, whole)
                gathered = columns[: some * taps].reshape(some, taps, -1)[:, :, :places]
                made = product[:some, :, :places]
                steps.append(partial(np.matmul, weights[low:high], gathered, made))
                grid = reshaped(made, (some, each, count, *inner))
                assert grid is not None
                cut = grid[(slice(None), slice(None), slice(None), *kept)]
                place = target[sample, low:high, :, first : first + count]
                steps.append(
                    partial(np.copyto, place, cut) if bias is None else partial(np.add, cut, bias[low:high], place)
                )
    return steps
