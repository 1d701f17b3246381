"""Rounding weights so that their errors cancel: GPTQ (Frantar et al. 2022, arXiv 2210.17323) for 1×1 convolutions and matrix products.

Round to nearest makes every weight as right as it can be alone. Here each column's rounding error is pushed into the columns that
are still free, weighted by how the calibration inputs go together (H = Σ x·xᵀ), so that the layer's output is as right as it can be.
"""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.threads import blas_threads
from quantize.numerics import Params

DAMPING = 0.01
MOST_INPUTS = 1024
MOST_ROWS = 4096  # of one sample: more say nothing new
MOST_WEIGHTS = 1 << 22  # a larger matrix takes seconds, and single weights matter less in long sums
_OUTPUTS = 256
_BLOCK = 32


class Products:
    """Σ x·xᵀ of what a layer reads, over all samples; constant memory.

    axis  of the input channels in the value: 1 for a convolution, the last for a matrix product
    """

    def __init__(self, axis: int) -> None:
        self.axis = axis
        self.total: Array | None = None
        self.rows = 0

    def see(self, values: Array) -> None:
        """One sample's input."""
        if not values.size:
            return
        rows = np.moveaxis(values, self.axis, -1).reshape(-1, values.shape[self.axis])
        if rows.shape[1] > MOST_INPUTS:
            return
        rows = rows[:: -(-len(rows) // MOST_ROWS)] if len(rows) > MOST_ROWS else rows
        rows = rows if rows.dtype == np.float32 else rows.astype(np.float32)
        part = rows.T @ rows
        if self.total is None:
            self.total = part
        else:
            self.total += part
        self.rows += len(rows)


def rounded(matrix: Array, how: Params, products: Array) -> Array | None:
    """Integers of `matrix` [outputs, inputs], with one scale for all or one a row; None where the products cannot be used.

    products  [inputs, inputs]
    """
    inputs = matrix.shape[1]
    if products.shape != (inputs, inputs) or inputs > MOST_INPUTS or matrix.size > MOST_WEIGHTS:
        return None
    if not np.isfinite(products).all():
        return None
    with blas_threads(1):  # the products are small: handing them to threads takes longer
        return _rounded(matrix, how, products)


def _rounded(matrix: Array, how: Params, products: Array) -> Array | None:
    inputs = matrix.shape[1]
    h = products.astype(np.float64)
    dead = np.diag(h) == 0
    h[dead, dead] = 1.0
    h[np.diag_indices(inputs)] += DAMPING * float(np.mean(np.diag(h)))
    order = np.argsort(-np.diag(h), kind="stable")
    try:
        upper = np.linalg.cholesky(np.linalg.inv(h[np.ix_(order, order)])).T.astype(np.float32)
    except np.linalg.LinAlgError:
        return None
    scale = np.broadcast_to(how.scale.astype(np.float32).reshape(-1), (len(matrix),))
    out = np.empty(matrix.shape, how.kind.dtype)
    for first in range(0, len(matrix), _OUTPUTS):
        part = slice(first, first + _OUTPUTS)
        turned = np.ascontiguousarray(matrix[part].T[order], np.float32)
        out[part, order] = _columns(turned, scale[part], how, upper).T
    return out


def _columns(w: Array, scale: Array, how: Params, upper: Array) -> Array:
    """Round one input after another, [inputs, outputs]; what a block leaves goes to the inputs behind it in one product."""
    low, high = how.kind.low + (how.kind.bits >= 8), how.kind.high
    inputs = len(w)
    q = np.empty(w.shape, how.kind.dtype)
    for start in range(0, inputs, _BLOCK):
        stop = min(start + _BLOCK, inputs)
        errors = np.empty((stop - start, w.shape[1]), np.float32)
        for k in range(start, stop):
            whole = np.clip(np.rint(w[k] / scale), low, high)
            q[k] = whole
            error = errors[k - start] = (w[k] - whole * scale) / upper[k, k]
            w[k:stop] -= upper[k, k:stop, None] * error
        w[stop:] -= upper[start:stop, stop:].T @ errors
    return q
