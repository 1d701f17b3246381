"""Sums and products whose bits depend on nothing but the numbers: what the "plain" kernels are made of.

BLAS orders its additions by shape, memory layout and threads, and numpy's sum by layout, so the same row gives other bits in
another tensor. Here a product is added up from the first term to the last, and a sum in the order of its values, in float64.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exec.arrays import Array

_BLOCK = 1 << 15  # elements of a partial product: its accumulator stays in the cache


def fixed_matmul(a: Array, b: Array) -> Array:
    """numpy's matmul of floats, each element Σ a[k]·b[k] for k = 0, 1, … in float64, rounded once."""
    left = a[None] if a.ndim == 1 else a
    right = b[:, None] if b.ndim == 1 else b
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    rows, columns = left.shape[-2], right.shape[-1]
    y = np.empty((*batch, rows, columns), np.result_type(a, b))
    wide_left, wide_right = left.astype(np.float64), right.astype(np.float64)
    each = max(1, _BLOCK * rows // max(y.size, 1))
    for start in range(0, rows, each):
        part = wide_left[..., start : start + each, :]
        total = np.zeros((*batch, part.shape[-2], columns))
        term = np.empty_like(total)
        for k in range(left.shape[-1]):
            np.multiply(part[..., k, None], wide_right[..., None, k, :], out=term)
            total += term
        y[..., start : start + each, :] = total
    if a.ndim == 1:
        y = y[..., 0, :]
    return y[..., 0] if b.ndim == 1 else y


def fixed_sum(x: Array, axes: Sequence[int] | None, keepdims: bool) -> Array:
    """Σ of floats over `axes`, the terms taken in ascending order in float64, rounded once; integers as they are."""
    gone = tuple(range(x.ndim)) if axes is None else tuple(axis % x.ndim for axis in axes)
    if x.dtype.kind in "iub" or not gone:
        return np.asarray(np.sum(x, axis=gone, keepdims=keepdims, dtype=x.dtype))
    kept = [axis for axis in range(x.ndim) if axis not in gone]
    rows = x.transpose(*kept, *gone).reshape(*(x.shape[axis] for axis in kept), -1) if x.size else None
    shape = tuple(1 if axis in gone else dim for axis, dim in enumerate(x.shape) if keepdims or axis not in gone)
    if rows is None:
        return np.zeros(shape, x.dtype)
    # cumsum adds from the left, whatever the layout
    return np.asarray(np.cumsum(np.sort(rows, axis=-1), axis=-1, dtype=np.float64)[..., -1].reshape(shape), x.dtype)
