"""By condition and by value: Where, NonZero, Unique, OneHot, Trilu, IsNaN, IsInf."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.kernels.growth import fitting
from exec.kernels.registry import kernel
from exec.kernels.widen import wide


@kernel("Where", since=9)
def where(condition: Array, x: Array, y: Array, /) -> Array:
    """x where the condition holds, else y, broadcast."""
    return np.where(condition, x, y)


@kernel("NonZero", since=9)
def non_zero(x: Array, /) -> Array:
    """The indices of the elements that are not zero, one column each, in row-major order.

    Shapes  x of rank r → (r, n); a 0-d x gives (0, 1) or (0, 0).
    """
    if x.ndim == 0:
        return np.zeros((0, int(bool(x))), np.int64)
    return np.array(np.nonzero(x), np.int64)


@kernel("Unique", since=11)
def unique(x: Array, /, *, axis: int | None = None, sorted: int = 1) -> tuple[Array, Array, Array, Array]:
    """The distinct elements (slices along `axis`), the first index of each, which one each element is, and how often.

    sorted=1 orders them by value, sorted=0 by first occurrence.
    """
    values, first, inverse, counts = np.unique(wide(x), True, True, True, axis)
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        values, first, counts, inverse = np.take(values, order, axis or 0), first[order], counts[order], rank[inverse]
    return values.astype(x.dtype), first.astype(np.int64), inverse.astype(np.int64), counts.astype(np.int64)


@kernel("OneHot", since=9)
def one_hot_9(indices: Array, depth: Array, values: Array, /, *, axis: int = -1) -> Array:
    """OneHot before opset 11: only indices in [0, depth) are on."""
    return _one_hot(indices.astype(np.int64), int(depth.reshape(())), values, axis)


@kernel("OneHot", since=11)
def one_hot(indices: Array, depth: Array, values: Array, /, *, axis: int = -1) -> Array:
    """values[1] at each index along a new axis of length `depth`, values[0] elsewhere.

    An index in [-depth, 0) counts from the back; one outside [-depth, depth) is nowhere on.
    """
    count = int(depth.reshape(()))
    at = indices.astype(np.int64)
    return _one_hot(np.where(at < 0, at + count, at), count, values, axis)


def _one_hot(at: Array, count: int, values: Array, axis: int) -> Array:
    rows = np.full(fitting((at.size, max(count, 0)), values.dtype), values[0], values.dtype)
    places = at.reshape(-1)
    inside = np.flatnonzero((places >= 0) & (places < count))
    rows[inside, places[inside]] = values[1]
    return np.moveaxis(rows.reshape(*at.shape, rows.shape[1]), -1, axis % (at.ndim + 1))


@kernel("Trilu", since=14)
def trilu(x: Array, k: Array | None = None, /, *, upper: int = 1) -> Array:
    """The upper or lower triangle of the last two axes from diagonal k on, zero elsewhere."""
    rows, columns = x.shape[-2:]
    offset = 0 if k is None else int(k.reshape(()))
    # k may be far outside the matrix, and of the matrix
    edge = np.arange(rows)[:, None] + min(max(offset, -rows), columns)
    return np.where(np.arange(columns) >= edge if upper else np.arange(columns) <= edge, x, x.dtype.type(0))


@kernel("IsNaN", since=9)
def is_nan(x: Array, /) -> Array:
    """Where x is not a number."""
    return np.asarray(np.isnan(x))


@kernel("IsInf", since=10)
def is_inf(x: Array, /, *, detect_negative: int = 1, detect_positive: int = 1) -> Array:
    """Where x is infinite, of the signs asked for."""
    found = np.isinf(x)
    if not detect_negative:
        found = found & (x > 0)
    if not detect_positive:
        found = found & (x < 0)
    return np.asarray(found)
