"""Products of quantized matrices with a float result, or requantized."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.kernels.contrib.activation import DOMAIN
from exec.kernels.math.quantized import exact_product
from exec.kernels.nn.conv_integer import requantized
from exec.kernels.quantization import dynamic_quantize_linear
from exec.kernels.registry import kernel
from exec.kernels.widen import wide


def centred(x: Array, zero: Array | None) -> Array:
    """x - zero as float32 whole numbers; a vector of zero points has one per column."""
    y = x.astype(np.float32)
    return y if zero is None else np.asarray(y - zero.astype(np.float32))


def scaled_product(
    a: Array, b: Array, a_scale: Array, b_scale: Array, a_zero: Array | None, b_zero: Array | None
) -> Array:
    """(A - a_zero) · (B - b_zero) · a_scale · b_scale in float32: exact sums, scaled once."""
    total = exact_product(centred(a, a_zero), centred(b, b_zero)).astype(np.float32)
    return np.asarray(total * (wide(a_scale) * wide(b_scale)))


@kernel("MatMulIntegerToFloat", domain=DOMAIN)
def matmul_integer_to_float(
    a: Array,
    b: Array,
    a_scale: Array,
    b_scale: Array,
    a_zero_point: Array | None = None,
    b_zero_point: Array | None = None,
    bias: Array | None = None,
    /,
) -> Array:
    """(A - a_zero) · (B - b_zero) · a_scale · b_scale + bias; scales of B may be one per column."""
    y = scaled_product(a, b, a_scale, b_scale, a_zero_point, b_zero_point)
    return np.asarray(y if bias is None else y + wide(bias)).astype(a_scale.dtype, copy=False)


@kernel("DynamicQuantizeMatMul", domain=DOMAIN)
def dynamic_quantize_matmul(
    a: Array, b: Array, b_scale: Array, b_zero_point: Array | None = None, bias: Array | None = None, /
) -> Array:
    """A as uint8 by its own range, then as MatMulIntegerToFloat."""
    quantized, a_scale, a_zero = dynamic_quantize_linear(a)
    y = scaled_product(quantized, b, a_scale, b_scale, a_zero, b_zero_point)
    return y if bias is None else np.asarray(y + bias)


@kernel("QGemm", domain=DOMAIN)
def quantized_gemm(
    a: Array,
    a_scale: Array,
    a_zero_point: Array,
    b: Array,
    b_scale: Array,
    b_zero_point: Array,
    c: Array | None = None,
    y_scale: Array | None = None,
    y_zero_point: Array | None = None,
    /,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Array:
    """alpha · (A' - a_zero) · (B' - b_zero) · a_scale · b_scale, C (int32) added before scaling.

    With y_scale the result is quantized again, else it is float32. Scales of B may be one per column.
    """
    left, right = (a.T if transA else a), (b.T if transB else b)
    total = exact_product(centred(left, a_zero_point), centred(right, b_zero_point))
    if c is not None:
        total = total.astype(np.float64) + c
    factor = np.asarray(np.float32(alpha) * a_scale * b_scale, np.float32)
    if y_scale is None or y_zero_point is None:
        return np.asarray(total.astype(np.float32) * factor)
    return requantized(total, np.asarray(factor / y_scale, np.float32), y_zero_point)
