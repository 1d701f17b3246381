"""Convolutions on integers, exact: the products and their sums fit float64 (or float32) without rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.kernels.nn.conv import check_channels, convolve
from exec.kernels.nn.window import window
from exec.kernels.registry import kernel

EXACT_IN_FLOAT32 = 1 << 24
"""Integers up to here are exact in float32, and so are sums that stay below."""


@kernel("ConvInteger", since=10)
def conv_integer(
    x: Array,
    w: Array,
    x_zero_point: Array | None = None,
    w_zero_point: Array | None = None,
    /,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """Σ (x − x_zero_point)·(w − w_zero_point) in int32.

    Shapes  as Conv; zero points scalar, w's also (M).
    Spec    ONNX ConvInteger-10. Padding is the zero point, that is 0 after centring.
    """
    check_channels(x, w, group)
    g = window(x.shape[2:], w.shape[2:], strides, pads, dilations, auto_pad)
    return wrapped(integer_convolution(x, w, x_zero_point, w_zero_point, g, group))


def integer_convolution(x: Array, w: Array, x_zero: Array | None, w_zero: Array | None, g: Any, group: int) -> Array:
    """The centred convolution as whole numbers in a float type that holds them."""
    carrier = carrier_of(math.prod(w.shape[1:]), x.dtype, w.dtype)
    return convolve(centred(x, x_zero, 1, carrier), centred(w, w_zero, 0, carrier), g, group)


def carrier_of(terms: int, *kinds: np.dtype[Any]) -> type[np.floating[Any]]:
    """float32 where `terms` products of such integers are exact in it, else float64."""
    largest = math.prod(255 if kind.itemsize == 1 else 65535 for kind in kinds)
    return np.float32 if terms * largest < EXACT_IN_FLOAT32 else np.float64


def centred(x: Array, zero: Array | None, axis: int, carrier: type[np.floating[Any]]) -> Array:
    """x − zero_point in a float type; a vector of zero points lies along `axis`."""
    y = x.astype(carrier)
    if zero is not None and np.any(zero):
        shape = [1] * x.ndim
        if zero.size > 1:
            shape[axis] = zero.size
        y -= zero.reshape(shape).astype(carrier)
    return y


def wrapped(total: Array) -> Array:
    """Whole numbers in a float type to int32, wrapping as integer arithmetic does."""
    return total.astype(np.int64).astype(np.int32)


@kernel("QLinearConv", since=10)
def qlinear_conv(
    x: Array,
    x_scale: Array,
    x_zero_point: Array,
    w: Array,
    w_scale: Array,
    w_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
    b: Array | None = None,
    /,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """Convolve integers, add the int32 bias, and quantize again.

    Shapes  as Conv; w_scale and w_zero_point scalar or (M); b (M), scaled by x_scale·w_scale.
    Spec    ONNX QLinearConv-10. Sums are exact; the one rounding is half to even, as `np.rint` does.
    """
    check_channels(x, w, group)
    g = window(x.shape[2:], w.shape[2:], strides, pads, dilations, auto_pad)
    total = integer_convolution(x, w, x_zero_point, w_zero_point, g, group)
    column = (-1, *[1] * g.rank)
    if b is not None:
        total = total.astype(np.float64) + b.reshape(column)
    return requantized(total, (x_scale * w_scale / y_scale).astype(np.float32).reshape(column), y_zero_point)


def requantized(total: Array, factor: Array, zero: Array) -> Array:
    """Whole numbers scaled, rounded half to even, moved by the zero point and clipped to its type."""
    limits = np.iinfo(zero.dtype)
    scaled = np.rint(total.astype(np.float32) * factor) + zero.astype(np.float32)
    return np.asarray(np.clip(scaled, limits.min, limits.max).astype(zero.dtype))
