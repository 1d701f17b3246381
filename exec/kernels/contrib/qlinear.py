"""Elementwise ops, pooling and Softmax from 8-bit integers to 8-bit integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.contrib.activation import DOMAIN
from exec.kernels.contrib.integer import centred
from exec.kernels.math.activation import leaky_relu, sigmoid
from exec.kernels.math.softmax import as_matrix, softmax
from exec.kernels.nn.pool import average_pool
from exec.kernels.quantization import dequantize_linear, quantize_linear, saturated
from exec.kernels.registry import kernel


def requantized(real: Array, scale: Array, zero: Array | None, like: Array) -> Array:
    """A float32 value in y's scale and type; that of `like` without a zero point."""
    return quantize_linear(real, scale, np.zeros((), like.dtype) if zero is None else zero)


def by_table(function: Callable[[Array], Array], x: Array) -> Array:
    """function(x) of 8-bit integers, computed once for each of the 256 values."""
    codes = np.arange(256, dtype=np.uint8).view(x.dtype)
    return np.asarray(np.take(function(codes), x.view(np.uint8)))


@kernel("QuantizeLinear", domain=DOMAIN)
def quantize_linear_contrib(
    x: Array, y_scale: Array, y_zero_point: Array | None = None, /, *, axis: int | None = None
) -> Array:
    """QuantizeLinear, here also to 16 and 4 bits."""
    return quantize_linear(x, y_scale, y_zero_point, axis=1 if axis is None else axis)


@kernel("DequantizeLinear", domain=DOMAIN)
def dequantize_linear_contrib(
    x: Array, x_scale: Array, x_zero_point: Array | None = None, /, *, axis: int | None = None
) -> Array:
    """DequantizeLinear, here also from 16 and 4 bits."""
    return dequantize_linear(x, x_scale, x_zero_point, axis=1 if axis is None else axis)


@kernel("QLinearAdd", domain=DOMAIN)
def qlinear_add(
    a: Array, a_scale: Array, a_zero: Array | None, b: Array, b_scale: Array, b_zero: Array | None, c_scale: Array,
    c_zero: Array | None = None, /,
) -> Array:  # fmt: skip
    """The sum of what A and B stand for, in C's scale; rounded, half to even, with C's zero point in it.

    In onnxruntime's steps, which decide where the sum is next to a tie: float32 with fused multiply-adds, B's first; an A
    that is one number per row changes places with B.
    """
    first, second = (a, a_scale, a_zero), (b, b_scale, b_zero)
    if a.ndim == 0 or (a.shape[-1] == 1 and b.shape[-1:] not in ((), (1,))):
        first, second = second, first
    (x, x_factor, x_zero), (y, y_factor, y_zero) = (
        (v, np.float32(s / c_scale), _number(z)) for v, s, z in (first, second)
    )
    fixed = _number(c_zero) - _multiply_add(x_zero, x_factor, y_factor * y_zero)
    return saturated(np.rint(_multiply_add(x, x_factor, _multiply_add(y, y_factor, fixed))), a.dtype)


def _multiply_add(x: Array | np.float32, factor: np.float32, rest: Array | np.float32) -> Array:
    """x · factor + rest, rounded to float32 once."""
    return np.asarray(x * np.float64(factor) + rest, np.float32)


def _number(zero: Array | None) -> np.float32:
    return np.float32(0) if zero is None else np.float32(zero.reshape(()))


@kernel("QLinearMul", domain=DOMAIN)
def qlinear_mul(
    a: Array, a_scale: Array, a_zero: Array | None, b: Array, b_scale: Array, b_zero: Array | None, c_scale: Array,
    c_zero: Array | None = None, /,
) -> Array:  # fmt: skip
    """The product of what A and B stand for, in C's scale; rounded, half to even, with C's zero point in it."""
    product = centred(a, a_zero) * centred(b, b_zero)
    return saturated(np.rint(product * np.float32(a_scale * b_scale / c_scale) + _number(c_zero)), a.dtype)


@kernel("QLinearSigmoid", domain=DOMAIN)
def qlinear_sigmoid(
    x: Array, x_scale: Array, x_zero: Array | None, y_scale: Array, y_zero: Array | None = None, /
) -> Array:
    """The sigmoid of what x stands for, in y's scale."""
    return by_table(lambda c: requantized(sigmoid(dequantize_linear(c, x_scale, x_zero)), y_scale, y_zero, x), x)


@kernel("QLinearLeakyRelu", domain=DOMAIN)
def qlinear_leaky_relu(
    x: Array,
    x_scale: Array,
    x_zero: Array | None,
    y_scale: Array,
    y_zero: Array | None = None,
    /,
    *,
    alpha: float = 0.01,
) -> Array:
    """LeakyRelu of what x stands for, in y's scale."""

    def real(codes: Array) -> Array:
        return leaky_relu(dequantize_linear(codes, x_scale, x_zero), alpha=alpha)

    return by_table(lambda codes: requantized(real(codes), y_scale, y_zero, x), x)


@kernel("QLinearConcat", domain=DOMAIN)
def qlinear_concat(y_scale: Array, y_zero: Array, /, *inputs: Array, axis: int) -> Array:
    """Concat of (tensor, scale, zero point) triples, all brought to y's scale."""
    if len(inputs) % 3:
        raise ExecutionError(f"QLinearConcat takes tensor, scale and zero point of each input, it got {len(inputs)}")
    parts = []
    for x, scale, zero in zip(inputs[::3], inputs[1::3], inputs[2::3], strict=True):
        if scale == y_scale and zero == y_zero:
            parts.append(x)
        else:
            parts.append(_moved(x, scale, zero, y_scale, y_zero))
    return np.concatenate(parts, axis)


def _moved(x: Array, scale: Array, zero: Array | None, y_scale: Array, y_zero: Array) -> Array:
    """x in another scale."""
    return by_table(lambda codes: requantized(dequantize_linear(codes, scale, zero), y_scale, y_zero, x), x)


@kernel("QLinearWhere", domain=DOMAIN)
def qlinear_where(
    condition: Array, x: Array, x_scale: Array, x_zero: Array, y: Array, y_scale: Array, y_zero: Array, z_scale: Array,
    z_zero: Array, /,
) -> Array:  # fmt: skip
    """x where the condition holds, else y, both brought to z's scale."""
    return np.where(condition, _moved(x, x_scale, x_zero, z_scale, z_zero), _moved(y, y_scale, y_zero, z_scale, z_zero))


@kernel("QLinearAveragePool", domain=DOMAIN)
def qlinear_average_pool(
    x: Array,
    x_scale: Array,
    x_zero: Array | None,
    y_scale: Array,
    y_zero: Array | None = None,
    /,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    channels_last: int = 0,
    count_include_pad: int = 0,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """AveragePool of what x stands for, in y's scale; rounded, half to even, with y's zero point in it."""
    real = dequantize_linear(np.moveaxis(x, -1, 1) if channels_last else x, x_scale, x_zero)
    pooled = average_pool(
        real, auto_pad=auto_pad, ceil_mode=ceil_mode, count_include_pad=count_include_pad, kernel_shape=kernel_shape,
        pads=pads, strides=strides,
    )  # fmt: skip
    whole = saturated(np.rint(pooled / y_scale + _number(y_zero)), x.dtype)
    return np.moveaxis(whole, 1, -1) if channels_last else whole


@kernel("QLinearGlobalAveragePool", domain=DOMAIN)
def qlinear_global_average_pool(
    x: Array, x_scale: Array, x_zero: Array, y_scale: Array, y_zero: Array, /, *, channels_last: int = 0
) -> Array:
    """The mean over all spatial axes of what x stands for, in y's scale."""
    axes = tuple(range(1, x.ndim - 1) if channels_last else range(2, x.ndim))
    total = np.sum(x, axis=axes, keepdims=True, dtype=np.int64)
    count = x.size // max(total.size, 1)
    factor = x_scale.astype(np.float64) / max(count, 1)
    real = (total - count * x_zero.astype(np.int64)) * factor
    return requantized(np.asarray(real, np.float32), y_scale, y_zero, x)


@kernel("QLinearReduceMean", domain=DOMAIN)
def qlinear_reduce_mean(
    x: Array,
    x_scale: Array,
    x_zero: Array | None,
    y_scale: Array,
    y_zero: Array | None = None,
    /,
    *,
    axes: Sequence[int],
    keepdims: int,
) -> Array:
    """The mean over `axes` of what x stands for, in y's scale."""
    real = dequantize_linear(x, x_scale, x_zero)
    mean = np.mean(real, axis=tuple(axes), keepdims=bool(keepdims))
    return requantized(np.asarray(mean, np.float32), y_scale, y_zero, x)


@kernel("QLinearSoftmax", domain=DOMAIN)
def qlinear_softmax(
    x: Array, x_scale: Array, x_zero: Array | None, y_scale: Array, y_zero: Array, /, *, axis: int = -1, opset: int
) -> Array:
    """Softmax of what x stands for, in y's scale; over all axes from `axis` on for the Softmax of an `opset` before 13."""
    real = dequantize_linear(x, x_scale, x_zero)
    if opset < 13:
        return requantized(softmax(as_matrix(real, axis)).reshape(x.shape), y_scale, y_zero, x)
    return requantized(softmax(real, axis=axis), y_scale, y_zero, x)
