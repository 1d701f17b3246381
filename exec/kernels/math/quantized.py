"""Matrix products of quantized integers, exact."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.dtypes import from_numpy
from exec.kernels.conversion import converted
from exec.kernels.nn.conv_integer import EXACT_IN_FLOAT32, requantized, wrapped
from exec.kernels.registry import kernel
from exec.kernels.widen import wide


@kernel("MatMulInteger", since=10)
def matmul_integer(a: Array, b: Array, a_zero: Array | None = None, b_zero: Array | None = None, /) -> Array:
    """(A - a_zero) · (B - b_zero) in int32.

    Shapes  as MatMul; zero points scalar, a's also one per row, b's one per column.
    """
    return wrapped(exact_product(_centred(a, _by_row(a_zero, a)), _centred(b, b_zero)))


@kernel("QLinearMatMul", since=10)
def qlinear_matmul(
    a: Array, a_scale: Array, a_zero: Array,
    b: Array, b_scale: Array, b_zero: Array,
    y_scale: Array, y_zero: Array, /,
) -> Array:  # fmt: skip
    """The product of what A and B stand for, quantized with y's scale and zero point.

        y = saturate(round((A - a_zero) · (B - b_zero) · a_scale · b_scale / y_scale) + y_zero)

    Shapes  as MatMul; scale and zero point scalar, a's also one per row, b's one per column.
    Spec    ONNX QLinearMatMul-10, -21. Sums are exact; the one rounding is half to even.
    """
    total = exact_product(_centred(a, _by_row(a_zero, a)), _centred(b, b_zero))
    factor = wide(_by_row(a_scale, a)) * wide(b_scale) / wide(y_scale)
    if from_numpy(y_zero.dtype).is_float:
        return converted(total.astype(np.float32) * factor + wide(y_zero), y_zero.dtype)
    return requantized(total, factor, y_zero)


def exact_product(a: Array, b: Array) -> Array:
    """The product of float32 matrices of whole numbers: in parts where a sum may pass what float32 holds, and those in float64."""
    largest = float(np.max(np.abs(a), initial=0)) * float(np.max(np.abs(b), initial=0))
    depth = int((EXACT_IN_FLOAT32 - 1) // largest) if largest else a.shape[-1]
    if a.shape[-1] <= depth:
        return np.asarray(np.matmul(a, b))
    if depth < SHORTEST_PART or b.ndim < 2:
        return np.asarray(np.matmul(a.astype(np.float64), b.astype(np.float64)))
    total: Array = np.matmul(a[..., :depth], b[..., :depth, :]).astype(np.float64)
    for start in range(depth, a.shape[-1], depth):
        total += np.matmul(a[..., start : start + depth], b[..., start : start + depth, :])
    return total


SHORTEST_PART = 64
"""Below, a product in float64 costs less than the parts."""


def _centred(x: Array, zero: Array | None) -> Array:
    y = x.astype(np.float32)
    if zero is not None:
        y -= zero.astype(np.float32)
    return y


def _by_row(parameter: Array | None, a: Array) -> Array:
    """A vector of one value per row of `a`, as a column."""
    if parameter is None:
        return np.zeros((), np.float32)
    return parameter[:, None] if parameter.ndim == 1 and parameter.size > 1 and a.ndim > 1 else parameter
