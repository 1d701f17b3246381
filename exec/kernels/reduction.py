"""Kernels of ONNX family reduction: one function per op, and the versions of how its axes are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.kernels.fixed import fixed_sum
from exec.kernels.math.arithmetic import div
from exec.kernels.math.rounding import highest, lowest
from exec.kernels.registry import kernel
from exec.kernels.widen import wide, widened

Axes = tuple[int, ...] | None
Sum = Callable[[Array, Axes, bool], Any]  # numpy reduces to a scalar where no axis is left
Reduce = Callable[[Array, Axes, bool, Sum], Any]


def fast_sum(x: Array, axes: Axes, keepdims: bool) -> Any:
    """numpy's sum, in pairs where the memory allows it."""
    return np.sum(x, axis=axes, keepdims=keepdims, dtype=x.dtype)


def _reduction(op: str, axes_input_since: int = 18) -> Callable[[Reduce], Reduce]:
    """Register `reduce(x, axes, keepdims, total)` for `op`: axes as an attribute first, as an input later.

    The plain kernels add up in a fixed order.
    """

    def register(reduce: Reduce) -> Reduce:
        for variant, total in (("numpy", fast_sum), ("plain", fixed_sum)):
            for function, since in _versions(reduce, total, axes_input_since):
                kernel(op, since=since, variant=variant)(function)
        return reduce

    return register


def _versions(reduce: Reduce, total: Sum, axes_input_since: int) -> list[tuple[Callable[..., Array], int]]:
    @widened
    def with_attribute(x: Array, /, *, axes: Sequence[int] | None = None, keepdims: int = 1) -> Array:
        return _typed(reduce, x, tuple(axes) if axes else None, bool(keepdims), total)

    @widened
    def with_input(
        x: Array, axes: Array | None = None, /, *, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Array:
        given = tuple(axes.reshape(-1).tolist()) if axes is not None else ()
        if not given and noop_with_empty_axes:
            # no axis is reduced, but what the op does to each element it still does
            return _typed(reduce, x, (), True, total)
        return _typed(reduce, x, given or None, bool(keepdims), total)

    versions: list[tuple[Callable[..., Array], int]] = [(with_attribute, 1), (with_input, axes_input_since)]
    for function, since in versions:
        function.__name__, function.__doc__ = f"{reduce.__name__}_{since}", reduce.__doc__
    return versions


def _typed(reduce: Reduce, x: Array, axes: Axes, keepdims: bool, total: Sum) -> Array:
    return np.asarray(reduce(x, axes, keepdims, total)).astype(x.dtype, copy=False)


@_reduction("ReduceSum", axes_input_since=13)
def reduce_sum(x: Array, axes: Axes, keepdims: bool, total: Sum) -> Any:
    """Σ x."""
    return total(x, axes, keepdims)


@_reduction("ReduceMean")
def reduce_mean(x: Array, axes: Axes, keepdims: bool, total: Sum) -> Any:
    """Σ x / n; of integers truncated; NaN of nothing."""
    added = total(x, axes, keepdims)
    count = x.size // max(np.size(added), 1) if x.size else 0
    return div(added, np.array(count, x.dtype))


@_reduction("ReduceProd")
def reduce_prod(x: Array, axes: Axes, keepdims: bool, total: Sum) -> Any:
    """Π x; 1 of nothing."""
    return np.prod(x, axis=axes, keepdims=keepdims, dtype=x.dtype)


@_reduction("ReduceMax")
def reduce_max(x: Array, axes: Axes, keepdims: bool, total: Sum) -> Any:
    """The largest; of nothing, the smallest value of the type."""
    if x.dtype.kind == "b":
        return np.any(x, axis=axes, keepdims=keepdims)
    return np.max(x, axis=axes, keepdims=keepdims, initial=lowest(x.dtype))


@_reduction("ReduceMin")
def reduce_min(x: Array, axes: Axes, keepdims: bool, total: Sum) -> Any:
    """The smallest; of nothing, the largest value of the type."""
    if x.dtype.kind == "b":
        return np.all(x, axis=axes, keepdims=keepdims)
    return np.min(x, axis=axes, keepdims=keepdims, initial=highest(x.dtype))


@_reduction("ReduceSumSquare")
def reduce_sum_square(x: Array, axes: Axes, keepdims: bool, total: Sum) -> Any:
    """Σ x²."""
    return total(np.square(x), axes, keepdims)


@_reduction("ReduceL1")
def reduce_l1(x: Array, axes: Axes, keepdims: bool, total: Sum) -> Any:
    """Σ |x|."""
    return total(np.abs(x), axes, keepdims)


@_reduction("ReduceL2")
def reduce_l2(x: Array, axes: Axes, keepdims: bool, total: Sum) -> Any:
    """√(Σ x²); of integers in float64, truncated."""
    return np.sqrt(total(np.square(_real(x)), axes, keepdims))


@_reduction("ReduceLogSum")
def reduce_log_sum(x: Array, axes: Axes, keepdims: bool, total: Sum) -> Any:
    """log Σ x; -inf of nothing."""
    return np.log(total(_real(x), axes, keepdims))


@_reduction("ReduceLogSumExp")
def reduce_log_sum_exp(x: Array, axes: Axes, keepdims: bool, total: Sum) -> Any:
    """log Σ exp(x), as max + log Σ exp(x - max) so that nothing overflows; -inf of nothing."""
    real = _real(x)
    peak = np.max(real, axis=axes, keepdims=True, initial=-np.inf)
    # an infinite peak would make inf - inf of its own element
    peak = np.where(np.isfinite(peak), peak, real.dtype.type(0))
    added = np.log(total(np.exp(real - peak), axes, keepdims))
    return added + peak.reshape(np.shape(added))


def _real(x: Array) -> Array:
    """Integers in float64, as the bodies of these ops say."""
    return x.astype(np.float64) if x.dtype.kind in "iu" else x


@kernel("ArgMax")
def arg_max(x: Array, /, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Array:
    """Where the largest value along `axis` is, the first or the last of equals."""
    return _position(np.argmax, x, axis, keepdims, select_last_index)


@kernel("ArgMin")
def arg_min(x: Array, /, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Array:
    """Where the smallest value along `axis` is, the first or the last of equals."""
    return _position(np.argmin, x, axis, keepdims, select_last_index)


def _position(find: Callable[..., Array], x: Array, axis: int, keepdims: int, last: int) -> Array:
    x = wide(x)
    if last:
        found = x.shape[axis] - 1 - find(np.flip(x, axis), axis=axis, keepdims=bool(keepdims))
    else:
        found = find(x, axis=axis, keepdims=bool(keepdims))
    return np.asarray(found, np.int64)
