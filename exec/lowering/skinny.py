"""Products of few rows with a weight: BLAS spends most of their time rearranging the weight, unless it is asked in small pieces.

OpenBLAS has kernels for AVX-512 that read small matrices where they lie; a weight cut into tiles of columns is many of those. Where the
rows are too many for that, the transposed product rearranges less. Its other kernels have neither, so the plain product is best there.
The choice depends on the kernel BLAS loaded, never on a clock: each way rounds in its own order, and a model takes one way in every run.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from exec.arrays import Array
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.machine import blas

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


READS_IN_PLACE = frozenset({"skylakex", "cooperlake", "sapphirerapids"})
"""OpenBLAS's kernels that come with one for small matrices."""


LEAST_ROWS = 16
"""Rows of a part below which a kernel that reads matrices where they lie has too little to reuse."""


def parts_that_pay(rows: int, inner: int, columns: int) -> int:
    """Into how many parts to cut the rows of each of many products, so that BLAS takes every part for small.

    Measured over 15 sizes of Winograd's 36 products on AVX-512: never slower by more than 3 %, up to twice as fast.
    """
    if rows * inner * columns <= SMALL or not reads_in_place():
        return 1
    fits = (p for p in range(2, rows // LEAST_ROWS + 1) if rows % p == 0 and rows * inner * columns // p <= SMALL)
    return next(fits, 1)


def reads_in_place() -> bool:
    """Whether BLAS multiplies small matrices without rearranging them first."""
    found = blas()
    return found.name == "openblas" and found.architecture.lower() in READS_IN_PLACE


def ways_that_pay(threads: int) -> frozenset[str]:
    """Of "tiles" and "columns", those that beat the plain product of few rows with the BLAS that numpy loaded.

    Measured in steps of rows 2 … 80: on AVX-512 tiles take 0.13–0.9 of the plain product's time and columns 0.4–0.9 of what is too
    large for tiles; on AVX2 all are equal or slower. More threads share a plain product, not a tile.
    """
    if not reads_in_place():
        return frozenset()
    return frozenset({"tiles", "columns"} if threads == 1 else {"columns"})
