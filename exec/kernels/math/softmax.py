"""Softmax, its logarithm and Hardmax: along one axis since opset 13, over all axes from `axis` on before."""

from __future__ import annotations

import math

import numpy as np

from exec.arrays import Array
from exec.kernels.fixed import fixed_sum
from exec.kernels.registry import kernel
from exec.kernels.widen import wide, widened

_SHORT_ROW = 32  # up to here a narrow sum is what the function body makes it


def as_matrix(x: Array, axis: int) -> Array:
    """x as [outer, inner], `inner` being the axes from `axis` on."""
    start = axis + x.ndim if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:start]), math.prod(x.shape[start:]))


@kernel("Softmax", since=13)
def softmax(x: Array, /, *, axis: int = -1) -> Array:
    """exp(x - max) / Σ exp(x - max) along `axis`.

    A row of -inf only has no answer and becomes NaN.

    Types   narrow floats are rounded after each step, as the op's function body says.
    """
    y: Array = np.subtract(x, _peak(x, axis), out=np.empty_like(x))
    np.exp(y, out=y)
    # the sum of a long row is taken in float32: in bfloat16 it stops growing at 256 equal terms
    carrier = y.dtype if y.shape[axis] <= _SHORT_ROW else wide(y[:0]).dtype
    y /= np.sum(y, axis=axis, keepdims=True, dtype=carrier).astype(y.dtype)
    return y


@kernel("Softmax", since=13, variant="plain")
def plain_softmax(x: Array, /, *, axis: int = -1) -> Array:
    """Softmax with one order of additions."""
    y: Array = np.exp(np.subtract(x, _peak(x, axis), out=np.empty_like(x)))
    y /= fixed_sum(wide(y), (axis,), True).astype(y.dtype)
    return y


@kernel("LogSoftmax", since=13, variant="plain")
@widened
def plain_log_softmax(x: Array, /, *, axis: int = -1) -> Array:
    """LogSoftmax with one order of additions."""
    y: Array = np.subtract(x, _peak(x, axis), out=np.empty_like(x))
    y -= np.log(fixed_sum(np.exp(y), (axis,), True))
    return y


def _peak(x: Array, axis: int) -> Array:
    if x.shape[axis] == 0:
        return np.zeros([1 if k == axis % x.ndim else dim for k, dim in enumerate(x.shape)], x.dtype)
    return np.asarray(np.max(x, axis=axis, keepdims=True))


@kernel("LogSoftmax", since=13)
@widened
def log_softmax(x: Array, /, *, axis: int = -1) -> Array:
    """x - max - log Σ exp(x - max) along `axis`."""
    y: Array = np.subtract(x, _peak(x, axis), out=np.empty_like(x))
    y -= np.log(np.sum(np.exp(y), axis=axis, keepdims=True))
    return y


@kernel("Hardmax", since=13)
def hardmax(x: Array, /, *, axis: int = -1) -> Array:
    """1 at the first largest value along `axis`, 0 elsewhere."""
    y = np.zeros_like(x)
    if x.size:
        np.put_along_axis(y, np.expand_dims(np.argmax(x, axis=axis), axis), x.dtype.type(1), axis=axis)
    return y


@kernel("Softmax")
def softmax_1(x: Array, /, *, axis: int = 1) -> Array:
    """Softmax over all axes from `axis` on, as before opset 13."""
    return softmax(as_matrix(x, axis)).reshape(x.shape)


@kernel("LogSoftmax")
def log_softmax_1(x: Array, /, *, axis: int = 1) -> Array:
    """LogSoftmax over all axes from `axis` on, as before opset 13."""
    return log_softmax(as_matrix(x, axis)).reshape(x.shape)


@kernel("Hardmax")
def hardmax_1(x: Array, /, *, axis: int = 1) -> Array:
    """Hardmax over all axes from `axis` on, as before opset 13."""
    return hardmax(as_matrix(x, axis)).reshape(x.shape)


@kernel("Softmax", variant="plain")
def plain_softmax_1(x: Array, /, *, axis: int = 1) -> Array:
    """Softmax before opset 13 with one order of additions."""
    return plain_softmax(as_matrix(x, axis)).reshape(x.shape)


@kernel("LogSoftmax", variant="plain")
def plain_log_softmax_1(x: Array, /, *, axis: int = 1) -> Array:
    """LogSoftmax before opset 13 with one order of additions."""
    return plain_log_softmax(as_matrix(x, axis)).reshape(x.shape)
