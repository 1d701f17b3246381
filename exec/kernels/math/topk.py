"""The k largest or smallest along an axis."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.registry import kernel
from exec.kernels.widen import wide

_BLOCK = 64  # the best of a block stands for its elements


@kernel("TopK")
def top_k_1(x: Array, /, *, axis: int = -1, k: int) -> tuple[Array, Array]:
    """TopK with k as an attribute, before opset 10."""
    return top_k(x, np.array([k]), axis=axis)


@kernel("TopK", since=10)
def top_k(x: Array, k: Array, /, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> tuple[Array, Array]:
    """The k largest (smallest) values along `axis` and where they are, in order; of equals the first comes first.

    NaN counts as larger than anything. Also with sorted=0 the result is sorted: any order is allowed.
    """
    count, dim = int(k.reshape(())), x.shape[axis]
    if not 0 <= count <= dim:
        raise ExecutionError(
            f"the {count} largest are asked for, the axis has {dim}", why=f"x has shape {list(x.shape)}"
        )
    rows = np.moveaxis(x, axis, -1)
    order = _order(wide(rows), count, bool(largest)) if count else np.zeros((*rows.shape[:-1], 0), np.int64)
    values = np.take_along_axis(rows, order, -1)
    return np.moveaxis(values, -1, axis), np.moveaxis(order, -1, axis)


def _order(rows: Array, count: int, largest: bool) -> Array:
    """The indices of the `count` best of each row, in order."""
    dim = rows.shape[-1]
    blocks = dim // _BLOCK
    if count * 4 > blocks:
        return _sorted(rows, largest)[..., :count]
    flat = rows.reshape(-1, dim)
    # every `blocks`-th element: the best along an axis with a long one inside is a few passes
    strided = flat[:, : blocks * _BLOCK].reshape(-1, _BLOCK, blocks)
    bests = strided.max(axis=1) if largest else strided.min(axis=1)
    # `count` blocks have a best as good as this, so no element that is worse is among the best
    edge = np.partition(bests, blocks - count if largest else count - 1, -1)
    edge = edge[:, blocks - count, None] if largest else edge[:, count - 1, None]
    if bests.dtype.kind == "f" and np.isnan(flat.sum(axis=1)).any():
        return _sorted(rows, largest)[..., :count]
    row, column = np.nonzero(flat >= edge if largest else flat <= edge)
    value = flat[row, column]
    # descending without negating: the complement of an integer never overflows
    key = value if not largest else ~value if value.dtype.kind in "iu" else -value
    order = np.lexsort((column, key, row))
    starts = np.searchsorted(row[order], np.arange(flat.shape[0]))
    best = column[order][starts[:, None] + np.arange(count)]
    return np.asarray(best).reshape(*rows.shape[:-1], count)


def _sorted(rows: Array, largest: bool) -> Array:
    """Indices that sort stably; descending as the ascending order of the reversed row, so that no type is negated."""
    if not largest:
        return np.argsort(rows, axis=-1, kind="stable")
    return np.asarray(rows.shape[-1] - 1 - np.argsort(rows[..., ::-1], axis=-1, kind="stable")[..., ::-1])
