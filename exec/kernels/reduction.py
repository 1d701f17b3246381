"""Kernels of ONNX family reduction: one function per op, and the versions of how its axes are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.kernels.math.arithmetic import div
from exec.kernels.math.rounding import highest, lowest
from exec.kernels.registry import kernel
from exec.kernels.widen import wide, widened

Axes = tuple[int, ...] | None
Reduce = Callable[[Array, Axes, bool], Any]  # numpy reduces to a scalar where no axis is left


def _reduction(op: str, axes_input_since: int = 18) -> Callable[[Reduce], Reduce]:
    """Register `reduce(x, axes, keepdims)` for `op`: axes as an attribute first, as an input later."""

    def register(reduce: Reduce) -> Reduce:
        @widened
        def with_attribute(x: Array, /, *, axes: Sequence[int] | None = None, keepdims: int = 1) -> Array:
            return _typed(reduce, x, tuple(axes) if axes else None, bool(keepdims))

        @widened
        def with_input(
            x: Array, axes: Array | None = None, /, *, keepdims: int = 1, noop_with_empty_axes: int = 0
        ) -> Array:
            given = tuple(axes.reshape(-1).tolist()) if axes is not None else ()
            if not given and noop_with_empty_axes:
                # no axis is reduced, but what the op does to each element it still does
                return _typed(reduce, x, (), True)
            return _typed(reduce, x, given or None, bool(keepdims))

        for function, since in ((with_attribute, 1), (with_input, axes_input_since)):
            function.__name__, function.__doc__ = f"{reduce.__name__}_{since}", reduce.__doc__
            kernel(op, since=since)(function)
        return reduce

    return register


def _typed(reduce: Reduce, x: Array, axes: Axes, keepdims: bool) -> Array:
    return np.asarray(reduce(x, axes, keepdims)).astype(x.dtype, copy=False)


@_reduction("ReduceSum", axes_input_since=13)
def reduce_sum(x: Array, axes: Axes, keepdims: bool) -> Any:
    """Σ x."""
    return np.sum(x, axis=axes, keepdims=keepdims, dtype=x.dtype)


@_reduction("ReduceMean")
def reduce_mean(x: Array, axes: Axes, keepdims: bool) -> Any:
    """Σ x / n; of integers truncated; NaN of nothing."""
    total = np.sum(x, axis=axes, keepdims=keepdims, dtype=x.dtype)
    count = x.size // max(np.size(total), 1) if x.size else 0
    return div(total, np.array(count, x.dtype))


@_reduction("ReduceProd")
def reduce_prod(x: Array, axes: Axes, keepdims: bool) -> Any:
    """Π x; 1 of nothing."""
    return np.prod(x, axis=axes, keepdims=keepdims, dtype=x.dtype)


@_reduction("ReduceMax")
def reduce_max(x: Array, axes: Axes, keepdims: bool) -> Any:
    """The largest; of nothing, the smallest value of the type."""
    if x.dtype.kind == "b":
        return np.any(x, axis=axes, keepdims=keepdims)
    return np.max(x, axis=axes, keepdims=keepdims, initial=lowest(x.dtype))


@_reduction("ReduceMin")
def reduce_min(x: Array, axes: Axes, keepdims: bool) -> Any:
    """The smallest; of nothing, the largest value of the type."""
    if x.dtype.kind == "b":
        return np.all(x, axis=axes, keepdims=keepdims)
    return np.min(x, axis=axes, keepdims=keepdims, initial=highest(x.dtype))


@_reduction("ReduceSumSquare")
def reduce_sum_square(x: Array, axes: Axes, keepdims: bool) -> Any:
    """Σ x²."""
    return np.sum(np.square(x), axis=axes, keepdims=keepdims, dtype=x.dtype)


@_reduction("ReduceL1")
def reduce_l1(x: Array, axes: Axes, keepdims: bool) -> Any:
    """Σ |x|."""
    return np.sum(np.abs(x), axis=axes, keepdims=keepdims, dtype=x.dtype)


@_reduction("ReduceL2")
def reduce_l2(x: Array, axes: Axes, keepdims: bool) -> Any:
    """√(Σ x²); of integers in float64, truncated."""
    return np.sqrt(np.sum(np.square(_real(x)), axis=axes, keepdims=keepdims))


@_reduction("ReduceLogSum")
def reduce_log_sum(x: Array, axes: Axes, keepdims: bool) -> Any:
    """log Σ x; -inf of nothing."""
    return np.log(np.sum(_real(x), axis=axes, keepdims=keepdims))


@_reduction("ReduceLogSumExp")
def reduce_log_sum_exp(x: Array, axes: Axes, keepdims: bool) -> Any:
    """log Σ exp(x), as max + log Σ exp(x - max) so that nothing overflows; -inf of nothing."""
    real = _real(x)
    peak = np.max(real, axis=axes, keepdims=True, initial=-np.inf)
    # an infinite peak would make inf - inf of its own element
    peak = np.where(np.isfinite(peak), peak, real.dtype.type(0))
    total = np.log(np.sum(np.exp(real - peak), axis=axes, keepdims=keepdims))
    return total + peak.reshape(np.shape(total))


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
