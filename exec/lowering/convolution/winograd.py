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
from exec.lowering.skinny import SMALL, parts_that_pay

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

BLOCK_BYTES = 4 << 20
"""Transformed input and output held at a time."""


def tiles_of(size: int) -> int:
    """Tiles that cover `size` outputs."""
    return -(-size // TILE)


def pays(c: Convolution) -> bool:
    """Whether this is faster than gathering."""
    g = c.g
    if g.rank != 2 or g.kernel != (3, 3) or g.strides != (1, 1) or g.dilations != (1, 1):
        return False
    return min(c.weights.shape[:2]) >= 8 and winograd_ns(c) < gathered_ns(c)


def winograd_ns(c: Convolution) -> float:
    """Time of one sample: the products, reading all of the weights, gathering and transforming tiles."""
    outputs, channels = c.weights.shape[:2]
    high = tiles_of(c.g.out[0])
    tiles = high * tiles_of(c.g.out[1])
    nbytes = 4 * 36 * outputs * channels
    products = 72 * outputs * channels * tiles / BATCHED + nbytes / NEAR_BYTES
    if nbytes > FAR_WEIGHTS:
        products = max(products, nbytes / FAR_BYTES)
    moved = tiles * (channels * INPUT_NS + outputs * OUTPUT_NS) + high * channels * TILE_ROW_NS
    return float(products + moved + FIXED_NS)


def gathered_ns(c: Convolution) -> float:
    """Time of one sample the other way: with few outputs products are far from BLAS's best, and short rows are copied one by one."""
    outputs, channels = c.weights.shape[:2]
    places, nbytes = math.prod(c.g.out), 4 * 9 * outputs * channels
    work = 9 * outputs * channels * places
    slowed = 1.3 if work <= SMALL else (outputs + 40) / outputs
    product = max(2 * work * slowed / SINGLE, nbytes / FAR_BYTES)
    columns = 9 * channels * places
    far = columns * FAR_COPY_NS if 4 * columns >= CACHE_BYTES else 0.0
    return float(product + far + 9 * channels * c.g.out[0] * ROW_NS + outputs * places * PLACE_NS)


BATCHED, SINGLE = 88.0, 154.0
"""Operations per nanosecond of 36 products one after another, and of one large one."""

INPUT_NS, OUTPUT_NS, TILE_ROW_NS, FIXED_NS = 64.0, 22.0, 22.0, 2000.0
"""Gathering and transforming a tile of one channel, transforming it back, a row of tiles of one channel, and what every run takes."""

ROW_NS, PLACE_NS, FAR_COPY_NS = 4.0, 0.2, 0.09
"""A row copied into the columns, an element of the result put in place, and what copying an element beyond the cache takes longer."""

NEAR_BYTES, FAR_BYTES, FAR_WEIGHTS = 27.0, 11.0, 28 << 20
"""Bytes per nanosecond of weights that are read once, from the cache and from beyond it, and where that begins."""

CACHE_BYTES = 6 << 20


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
    m, y = b.scratch((36, outputs, tiles)), b.scratch((outputs, tiles, 16))
    ragged = any(o % TILE for o in g.out)
    whole = b.scratch((outputs, TILE * rows, TILE * wide) if ragged else (1, 1, TILE))
    for sample in range(c.x.shape[0]):
        x = c.x.view(c.x.array[sample])
        out = c.out.view(c.out.array[sample])
        b.emit(partial(_run, c, rows, wide, high), out, b.constant(u), x, padded, windows, v, m, y, whole)


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
    whole: Array,
) -> list[Step]:
    g = c.g
    channels, outputs = x.shape[0], out.shape[0]
    inside = padded[:, g.before[0] : g.before[0] + g.size[0], g.before[1] : g.before[1] + g.size[1]]
    guard = _Guard(c, out, x, padded.reshape(-1))
    steps: list[Step] = [partial(padded.fill, 0), partial(np.copyto, inside, x), guard.look]
    s = padded.strides
    height, width = g.out
    for first in range(0, high, rows):
        count = min(rows, high - first)
        tiles = count * wide
        source = np.lib.stride_tricks.as_strided(
            padded[:, TILE * first :],
            (POINTS, POINTS, channels, count, wide),
            (s[1], s[2], s[0], TILE * s[1], TILE * s[2]),
            writeable=False,
        )
        seen, moved, product = (_part(scratch, tiles) for scratch in (windows, v, m))
        back = y.reshape(-1)[: outputs * tiles * 16].reshape(-1, 16)
        steps += [
            partial(np.copyto, seen.reshape(POINTS, POINTS, channels, count, wide), source),
            partial(np.matmul, BOTH_INPUT, seen.reshape(36, -1), moved.reshape(36, -1)),
            _products(u, moved, product),
        ]
        if c.bias is not None:  # the point (1, 1) reaches every output of its tile with weight 1
            steps.append(partial(np.add, product[POINTS + 1], c.bias.reshape(-1, 1), product[POINTS + 1]))
        steps.append(partial(np.matmul, product.reshape(36, -1).T, BOTH_OUTPUT.T, back))
        top, bottom = TILE * first, min(TILE * (first + count), height)
        if width % TILE == 0 and bottom - top == TILE * count:
            steps.append(_place(out[:, top:bottom], back, count, wide))
        else:
            target = whole.reshape(-1)[: outputs * tiles * 16].reshape(outputs, TILE * count, TILE * wide)
            steps.append(_place(target, back, count, wide))
            steps.append(partial(np.copyto, out[:, top:bottom], target[:, : bottom - top, :width]))
    return [*steps, guard.redo]


def _products(u: Array, moved: Array, product: Array) -> Step:
    """The 36 products, the outputs of each cut into parts where BLAS multiplies small matrices without rearranging them."""
    points, outputs, channels = u.shape
    parts = parts_that_pay(outputs, channels, moved.shape[2])
    if parts == 1:
        return partial(np.matmul, u, moved, product)
    shape = (points, parts, outputs // parts, -1)
    return partial(np.matmul, u.reshape(shape), moved[:, None], product.reshape(shape))


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


def _place(out: Array, tiles: Array, rows: int, columns: int) -> Step:
    """Put tiles (M·rows·columns, 16) into out (M, 4·rows, 4·columns): a tile's row is one element of 16 bytes."""
    pitch = out.strides
    target = np.lib.stride_tricks.as_strided(
        out.view(np.complex128), (out.shape[0], rows, TILE, columns), (pitch[0], TILE * pitch[1], pitch[1], 4 * TILE)
    )
    source = tiles.view(np.complex128).reshape(out.shape[0], rows, columns, TILE).transpose(0, 1, 3, 2)
    return partial(np.copyto, target, source)
