"""Rounding weights so that their errors cancel: GPTQ (Frantar et al. 2022, arXiv 2210.17323) for 1×1 convolutions and matrix products.

Round to nearest makes every weight as right as it can be alone. Here each column's rounding error is pushed into the columns that
are still free, weighted by how the calibration inputs go together (H = Σ x·xᵀ), so that the layer's output is as right as it can be.
"""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from quantize.numerics import Params

DAMPING = 0.01
MOST_INPUTS = 2048
_BLOCK = 64


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
        rows = np.moveaxis(values, self.axis, -1).reshape(-1, values.shape[self.axis])
        rows = rows if rows.dtype == np.float32 else rows.astype(np.float32)
        part = rows.T @ rows
        self.total = part.astype(np.float64) if self.total is None else self.total + part
        self.rows += len(rows)


def rounded(matrix: Array, how: Params, products: Array) -> Array | None:
    """Integers of `matrix` [outputs, inputs], with one scale for all or one a row; None where the products cannot be used.

    products  [inputs, inputs]
    """
    inputs = matrix.shape[1]
    if products.shape != (inputs, inputs) or inputs > MOST_INPUTS or not np.isfinite(products).all():
        return None
    h = products.copy()
    dead = np.diag(h) == 0
    h[dead, dead] = 1.0
    h[np.diag_indices(inputs)] += DAMPING * float(np.mean(np.diag(h)))
    order = np.argsort(-np.diag(h), kind="stable")
    try:
        upper = np.linalg.cholesky(np.linalg.inv(h[np.ix_(order, order)])).T
    except np.linalg.LinAlgError:
        return None
    scale = np.broadcast_to(how.scale.astype(np.float64).reshape(-1), (len(matrix),))
    low, high = how.kind.low + (how.kind.bits >= 8), how.kind.high
    w = matrix[:, order].astype(np.float64)
    q = np.empty_like(w)
    for start in range(0, inputs, _BLOCK):
        stop = min(start + _BLOCK, inputs)
        errors = np.empty((len(w), stop - start))
        for k in range(start, stop):
            q[:, k] = np.clip(np.rint(w[:, k] / scale), low, high)
            errors[:, k - start] = (w[:, k] - q[:, k] * scale) / upper[k, k]
            w[:, k:stop] -= errors[:, k - start, None] * upper[k, k:stop]
        w[:, stop:] -= errors @ upper[start:stop, stop:]
    out = np.empty_like(q)
    out[:, order] = q
    return out.astype(how.kind.dtype)
