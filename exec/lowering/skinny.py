"""Products of few rows with a weight: BLAS spends most of their time rearranging the weight, unless it is asked in small pieces.

OpenBLAS has kernels that read small matrices where they lie; a weight cut into tiles of columns is many of those. Where it has none, the
transposed product rearranges less. What pays on this machine is found out once, on one shape, so that the same model takes the same way
in every run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from exec.arrays import Array
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step

SMALL = 1_000_000
"""Multiply-adds up to which OpenBLAS takes a product for small."""

MOST_ROWS = 80
"""Rows from which on rearranging the weight is worth it."""


def skinny(b: Builder, out: Slot, x: Slot, weight: Array, *, transposed: bool) -> bool:
    """Emit out (R, N) = x (R, K) · weight in the form for few rows; False where the plain product is best."""
    (rows, inner), columns = x.shape, out.shape[1]
    if not 2 <= rows <= MOST_ROWS or rows * inner * columns <= SMALL or out.dtype != np.float32:
        return False
    width = 64 if rows <= 4 else 32
    ways = ways_that_pay(b.threads)
    if "tiles" in ways and rows * inner * width <= SMALL and columns >= 2 * width:
        _tiles(b, out, x, weight, width, transposed=transposed)
        return True
    if "columns" in ways and inner <= columns and x.contiguous:
        turned = b.packs.get(
            weight, ("columns", transposed), lambda: np.ascontiguousarray(weight if transposed else weight.T)
        )
        b.emit(_columns, out, x, b.constant(turned), b.scratch((columns, rows), out.dtype))
        return True
    return False


def _tiles(b: Builder, out: Slot, x: Slot, weight: Array, width: int, *, transposed: bool) -> None:
    tiles = b.packs.get(weight, ("tiles", width, transposed), lambda: tiled(weight.T if transposed else weight, width))
    b.emit(_by_tiles, out, x, b.constant(tiles[0]), b.constant(tiles[1]))


def tiled(weight: Array, width: int) -> tuple[Array, Array]:
    """Weight (K, N) as (N // width, K, width), and the columns that are left."""
    inner, columns = weight.shape
    whole = columns // width * width
    tiles = weight[:, :whole].reshape(inner, -1, width).transpose(1, 0, 2)
    return np.ascontiguousarray(tiles), np.ascontiguousarray(weight[:, whole:])


def _by_tiles(out: Array, x: Array, tiles: Array, rest: Array) -> list[Step]:
    count, _, width = tiles.shape
    target = np.lib.stride_tricks.as_strided(
        out, (count, x.shape[0], width), (width * out.strides[1], out.strides[0], out.strides[1])
    )
    steps: list[Step] = [partial(np.matmul, x, tiles, target)]
    if rest.size:
        steps.append(partial(np.matmul, x, rest, out[:, count * width :]))
    return steps


def _columns(out: Array, x: Array, turned: Array, scratch: Array) -> list[Step]:
    return [partial(np.matmul, turned, x.T, scratch), partial(np.copyto, out, scratch.T)]


@cache
def ways_that_pay(threads: int) -> frozenset[str]:
    """Of "tiles" and "columns", those that beat the plain product of 16 rows clearly, with as many threads as BLAS has now."""
    rows, inner, columns, width = 16, 384, 1536, 32
    x, w = np.ones((rows, inner), np.float32), np.ones((inner, columns), np.float32)
    out, turned, scratch = np.empty((rows, columns), np.float32), w.T.copy(), np.empty((columns, rows), np.float32)
    tiles = tiled(w, width)[0]
    target = out.reshape(rows, -1, width).transpose(1, 0, 2)

    def by_columns() -> None:
        np.matmul(turned, x.T, scratch)
        np.copyto(out, scratch.T)

    plain = fastest(lambda: np.matmul(x, w, out))
    times = {"tiles": fastest(lambda: np.matmul(x, tiles, target)), "columns": fastest(by_columns)}
    return frozenset(way for way, taken in times.items() if taken < 0.8 * plain)


def fastest(call: Callable[[], object], repeats: int = 5) -> float:
    """Shortest of a few runs, in seconds."""
    call()
    best = math.inf
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - began)
    return best
