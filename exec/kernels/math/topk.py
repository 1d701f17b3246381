"""The k largest or smallest along an axis."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.registry import kernel
from exec.kernels.widen import wide

_PARTITION_FROM = 256  # shorter rows sort faster than they partition


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
    dim = rows.shape[-1]
    if dim < _PARTITION_FROM or count > dim // 4 or (rows.dtype.kind == "f" and np.isnan(rows).any()):
        return _sorted(rows, largest)[..., :count]
    edge = np.partition(rows, dim - count if largest else count - 1, -1)
    edge = edge[..., dim - count, None] if largest else edge[..., count - 1, None]
    inside = rows > edge if largest else rows < edge
    ties = rows == edge
    # the first ties fill up what is still missing
    room = count - np.count_nonzero(inside, axis=-1, keepdims=True)
    chosen = inside | (ties & (np.cumsum(ties, axis=-1) <= room))
    found = np.nonzero(chosen)[-1].reshape(*rows.shape[:-1], count)
    order = _sorted(np.take_along_axis(rows, found, -1), largest)
    return np.asarray(np.take_along_axis(found, order, -1))


def _sorted(rows: Array, largest: bool) -> Array:
    """Indices that sort stably; descending as the ascending order of the reversed row, so that no type is negated."""
    if not largest:
        return np.argsort(rows, axis=-1, kind="stable")
    return np.asarray(rows.shape[-1] - 1 - np.argsort(rows[..., ::-1], axis=-1, kind="stable")[..., ::-1])
