"""Products over few inner elements, panel by panel.

BLAS rearranges both operands before it multiplies, which over a short inner axis costs as much as multiplying. Panels of columns that it
takes for small matrices are read where they lie.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from exec.arrays import Array
from exec.lowering.builder import Step
from exec.lowering.skinny import SMALL, reads_in_place

MOST_INNER = 64
"""Inner elements up to which panels pay: 0.72–0.92 of the plain product's time on AVX-512 at 16 … 64, the same at 144."""

WIDTH = 128
"""Columns of a panel."""


def multiply(weights: Array, columns: Array, out: Array, threads: int) -> list[Step]:
    """The calls that compute out (…, M, N) = weights (…, M, K) · columns (…, K, N)."""
    (rows, inner), count = weights.shape[-2:], columns.shape[-1]
    whole = count // WIDTH * WIDTH
    fits = rows * inner * WIDTH <= SMALL < rows * inner * count
    if threads > 1 or inner > MOST_INNER or whole < 2 * WIDTH or not fits or not reads_in_place():
        return [partial(np.matmul, weights, columns, out)]
    steps: list[Step] = [partial(np.matmul, weights[..., None, :, :], _panels(columns, whole), _panels(out, whole))]
    if whole < count:
        steps.append(partial(np.matmul, weights, columns[..., whole:], out[..., whole:]))
    return steps


def _panels(array: Array, whole: int) -> Array:
    """The first `whole` columns as a view (…, panels, rows, WIDTH)."""
    *leading, columns = array.strides
    shape = (*array.shape[:-1], whole // WIDTH, WIDTH)
    split = np.lib.stride_tricks.as_strided(array, shape, (*leading, WIDTH * columns, columns))
    return np.moveaxis(split, -2, -3)
