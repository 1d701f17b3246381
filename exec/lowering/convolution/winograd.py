"""Winograd's F(4×4, 3×3): 36 multiplications where the plain algorithm has 144.

Lavin & Gray 2015 (arXiv 1509.09308), with the points 0, ±1, ±2, ∞. Both transforms are one product with the Kronecker square of
their matrix: more arithmetic than two small ones, but arithmetic BLAS is good at. Relative error about 1e-6 in float32. One
infinity, NaN or huge number spoils its whole tile, so an input that has any is convolved by gathering.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from exec.arrays import Array
from exec.kernels.nn.conv import convolve
from exec.lowering.builder import Builder, Step
from exec.lowering.convolution.problem import Convolution

TILE, POINTS = 4, 6

INPUT = np.array(
    [
        [4, 0, -5, 0, 1, 0],
        [0, -4, -4, 1, 1, 0],
        [0, 4, -4, -1, 1, 0],
        [0, -2, -1, 2, 1, 0],
        [0, 2, -1, -2, 1, 0],
        [0, 4, 0, -5, 0, 1],
    ],
    np.float32,
)
WEIGHT = np.array(
    [[1 / 4, 0, 0], [-1 / 6, -1 / 6, -1 / 6], [-1 / 6, 1 / 6, -1 / 6], [1 / 24, 1 / 12, 1 / 6], [1 / 24, -1 / 12, 1 / 6],
     [0, 0, 1]],
    np.float64,
)  # fmt: skip
OUTPUT = np.array([[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]], np.float32)

BOTH_INPUT = np.kron(INPUT, INPUT)
BOTH_OUTPUT = np.kron(OUTPUT, OUTPUT)

BLOCK_BYTES = 1 << 20
"""Transformed input and output held at a time."""

FEWEST_TILES = 8
"""Below, the 36 products are so thin that reading four times the weights costs more than the arithmetic saved."""


def tiles_of(size: int) -> int:
    """Tiles that cover `size` outputs."""
    return -(-size // TILE)


def pays(c: Convolution) -> bool:
    """Whether this is faster than gathering: few channels spend their time in the transforms."""
    g = c.g
    if g.rank != 2 or g.kernel != (3, 3) or g.strides != (1, 1) or g.dilations != (1, 1):
        return False
    outputs, channels = c.weights.shape[:2]
    tiles = c.x.shape[0] * tiles_of(g.out[0]) * tiles_of(g.out[1])
    if tiles < FEWEST_TILES or min(outputs, channels) < 8:
        return False
    plain = c.macs * PLAIN_NS + 9 * channels * math.prod(g.out) * c.x.shape[0] * COPY_NS
    products = 36 * outputs * channels * tiles * PLAIN_NS * (1 + 24 / tiles)
    transforms = (
        36 * (36 * PLAIN_NS + 2 * COPY_NS) * channels * tiles + 16 * (36 * PLAIN_NS + 2 * COPY_NS) * outputs * tiles
    )
    return bool(products + transforms < plain)


PLAIN_NS = 2 / 140
"""A multiply-add in a good matrix product."""

COPY_NS = 0.35
"""An element copied between strided places."""


def transformed_weights(w: Array) -> Array:
    """(36, M, C) in float32 from (M, C, 3, 3), by way of float64."""
    outputs, channels = w.shape[:2]
    both = np.kron(WEIGHT, WEIGHT)  # (36, 9)
    u = np.matmul(both.astype(np.float32), np.ascontiguousarray(w.reshape(-1, 9).T, np.float32))
    return np.ascontiguousarray(u.reshape(36, outputs, channels))


def winograd(b: Builder, c: Convolution) -> None:
    """Blocks of tile rows: gather, transform, multiply, transform back, put in place."""
    g = c.g
    outputs, channels = c.weights.shape[:2]
    high, wide = tiles_of(g.out[0]), tiles_of(g.out[1])
    u = b.packs.get(c.source, "winograd", lambda: transformed_weights(c.weights))
    per_row = 4 * 36 * wide * (2 * channels + outputs)
    rows = max(1, min(high, BLOCK_BYTES // per_row))
    rows = -(-high // -(-high // rows))
    rows = max(rows, min(high, -(-32 // wide)))
    tiles = rows * wide
    padded = b.scratch((channels, TILE * high + 2, TILE * wide + 2))
    windows, v = b.scratch((36, channels, tiles)), b.scratch((36, channels, tiles))
    m, y = b.scratch((36, outputs, tiles)), b.scratch((16, outputs, tiles))
    for sample in range(c.x.shape[0]):
        x = c.x.view(c.x.array[sample])
        out = c.out.view(c.out.array[sample])
        b.emit(partial(_run, c, rows, wide, high), out, b.constant(u), x, padded, windows, v, m, y)


def _run(
    c: Convolution,
    rows: int,
    wide: int,
    high: int,
    out: Array,
    u: Array,
    x: Array,
    padded: Array,
    windows: Array,
    v: Array,
    m: Array,
    y: Array,
) -> list[Step]:
    g = c.g
    channels, outputs = x.shape[0], out.shape[0]
    inside = padded[:, g.before[0] : g.before[0] + g.size[0], g.before[1] : g.before[1] + g.size[1]]
    guard = _Guard(c, out, x, padded.reshape(-1))
    steps: list[Step] = [partial(padded.fill, 0), partial(np.copyto, inside, x), guard.look]
    s = padded.strides
    bias = None if c.bias is None else c.bias.reshape(-1, 1, 1)
    for first in range(0, high, rows):
        count = min(rows, high - first)
        tiles = count * wide
        source = np.lib.stride_tricks.as_strided(
            padded[:, TILE * first :],
            (POINTS, POINTS, channels, count, wide),
            (s[1], s[2], s[0], TILE * s[1], TILE * s[2]),
            writeable=False,
        )
        seen, moved = _part(windows, tiles), _part(v, tiles)
        product, back = _part(m, tiles), _part(y, tiles)
        steps += [
            partial(np.copyto, seen.reshape(POINTS, POINTS, channels, count, wide), source),
            partial(np.matmul, BOTH_INPUT, seen.reshape(36, -1), moved.reshape(36, -1)),
            partial(np.matmul, u, moved, product),
            partial(np.matmul, BOTH_OUTPUT, product.reshape(36, -1), back.reshape(16, -1)),
            *_placing(out, back.reshape(TILE, TILE, outputs, count, wide), TILE * first, bias),
        ]
    return [*steps, guard.redo]


class _Guard:
    """Looks at the padded input before the transforms, and afterwards redoes a convolution they have spoilt."""

    def __init__(self, c: Convolution, out: Array, x: Array, padded: Array) -> None:
        self.c, self.out, self.x, self.padded = c, out, x, padded
        self.fine = True

    def look(self) -> None:
        """A sum of squares is finite only if every element is, and none is huge."""
        self.fine = math.isfinite(np.dot(self.padded, self.padded))

    def redo(self) -> None:
        """Convolve by gathering if need be."""
        if not self.fine:
            c = self.c
            direct = convolve(self.x[None], c.weights, c.g, 1)[0]
            np.copyto(self.out, direct if c.bias is None else direct + c.bias.reshape(-1, 1, 1))


def _part(scratch: Array, tiles: int) -> Array:
    """The front of a scratch array as if it had been made for `tiles` tiles."""
    shape = (*scratch.shape[:2], tiles)
    return scratch.reshape(-1)[: math.prod(shape)].reshape(shape)


def _placing(out: Array, tiles: Array, top: int, bias: Array | None) -> list[Step]:
    """Write (4, 4, M, rows, columns) tiles into out (M, H, W) from row `top` on, adding the bias on the way."""
    height, width = out.shape[1:]
    outputs, count = tiles.shape[2:4]
    bottom = min(top + TILE * count, height)
    whole_rows, whole_columns = (bottom - top) // TILE, width // TILE
    steps: list[Step] = []

    def put(target: Array, source: Array, shaped: Array | None) -> None:
        if source.size:
            steps.append(
                partial(np.copyto, target, source) if shaped is None else partial(np.add, source, shaped, target)
            )

    # The part made of whole tiles is one pass; what sticks out at the right and the bottom goes row and column by row and column.
    block = out[:, top : top + TILE * whole_rows, : TILE * whole_columns]
    grid = np.lib.stride_tricks.as_strided(
        block,
        (TILE, TILE, outputs, whole_rows, whole_columns),
        (out.strides[1], out.strides[2], out.strides[0], TILE * out.strides[1], TILE * out.strides[2]),
        writeable=True,
    )
    put(grid, tiles[:, :, :, :whole_rows, :whole_columns], bias)
    for j in range(width - TILE * whole_columns):
        column = out[:, top:bottom, TILE * whole_columns + j]
        for i in range(min(TILE, bottom - top)):
            target = column[:, i::TILE]
            put(target, tiles[i, j, :, : target.shape[1], whole_columns], None if bias is None else bias[:, :, 0])
    for i in range(bottom - top - TILE * whole_rows):
        line = out[:, top + TILE * whole_rows + i, : TILE * whole_columns]
        for j in range(TILE):
            target = line[:, j::TILE]
            put(target, tiles[i, j, :, whole_rows, : target.shape[1]], None if bias is None else bias[:, :, 0])
    return steps
