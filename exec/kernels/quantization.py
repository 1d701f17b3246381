"""Kernels of ONNX family quantization: between real values and integers (or narrow floats) with a scale."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from exec.arrays import Array
from exec.dtypes import from_numpy
from exec.errors import ExecutionError
from exec.kernels.conversion import converted, dtype_of
from exec.kernels.registry import kernel
from exec.kernels.tiled import tiled
from exec.kernels.widen import wide

_E8M0: np.dtype[Any] = np.dtype(ml_dtypes.float8_e8m0fnu)
_UINT8: np.dtype[Any] = np.dtype(np.uint8)


@kernel("QuantizeLinear", since=10)
def quantize_linear(
    x: Array,
    y_scale: Array,
    y_zero_point: Array | None = None,
    /,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Array:
    """y = saturate(round(x / y_scale) + y_zero_point), halves to the even number.

    Shapes  scale and zero point 0-d; or (d_axis); or as x, with one value per `block_size` elements along `axis`.
    Types   y has the zero point's type, else `output_dtype`, else uint8. The quotient is rounded to `precision`, by default
            the scale's type. Integers: NaN becomes the lowest value. float8, 6 and 4 bits: no rounding before the cast.
    Spec    ONNX QuantizeLinear-10 to -28.
    """
    dtype = y_zero_point.dtype if y_zero_point is not None else dtype_of(output_dtype) if output_dtype else _UINT8
    carrier = dtype_of(precision) if precision else x.dtype if y_scale.dtype == _E8M0 else y_scale.dtype
    scale = y_scale.astype(carrier, copy=False)

    def quantized(part: Array) -> Array:
        ratio = wide(per_element(np.divide, part.astype(carrier, copy=False), scale, axis, block_size))
        if from_numpy(dtype).is_float:
            moved = ratio if y_zero_point is None else per_element(np.add, ratio, wide(y_zero_point), axis, block_size)
            return converted(moved, dtype, saturate=bool(saturate))
        whole = np.rint(ratio, out=ratio)
        if y_zero_point is not None and np.any(y_zero_point):
            whole = per_element(np.add, whole, y_zero_point.astype(whole.dtype), axis, block_size)
        return saturated(whole, dtype)

    return tiled(quantized)(x) if scale.size == 1 and not block_size else quantized(x)


def saturated(whole: Array, dtype: np.dtype[Any]) -> Array:
    """Whole numbers in a float type as integers, clipped to their range; NaN becomes the lowest."""
    limits = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    clipped = np.clip(whole, limits.min, limits.max)
    if limits.min < 0 and np.isnan(clipped).any():
        clipped = np.nan_to_num(clipped, nan=limits.min)
    if limits.bits < 8:
        return np.asarray(clipped).astype(np.int8).astype(dtype)
    return np.asarray(clipped).astype(dtype)


@kernel("DequantizeLinear", since=10)
def dequantize_linear(
    x: Array,
    x_scale: Array,
    x_zero_point: Array | None = None,
    /,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Array:
    """y = (x - x_zero_point) · x_scale.

    Shapes  scale and zero point 0-d; or (d_axis); or as x, with one value per `block_size` elements along `axis`.
    Types   y has the type `output_dtype`, by default the scale's; the product is taken in float32 and rounded once.
    Spec    ONNX DequantizeLinear-10 to -28.
    """
    dtype = dtype_of(output_dtype) if output_dtype else x_scale.dtype
    scale = wide(x_scale)

    def dequantized(part: Array) -> Array:
        if x_zero_point is None or not np.any(x_zero_point):
            centred = part.astype(np.float32)
        elif part.dtype.itemsize > 2:
            # float32 does not hold every int32: subtract before rounding
            centred = per_element(np.subtract, part, x_zero_point, axis, block_size).astype(np.float32)
        else:
            zero = x_zero_point.astype(np.float32)
            centred = per_element(np.subtract, part.astype(np.float32), zero, axis, block_size)
        return per_element(np.multiply, centred, scale, axis, block_size).astype(dtype, copy=False)

    return tiled(dequantized)(x) if scale.size == 1 and not block_size else dequantized(x)


def per_element(operation: Any, x: Array, parameter: Array, axis: int, block_size: int) -> Array:
    """operation(x, parameter), the parameter per tensor, per index of `axis`, or per block of indices of `axis`."""
    if parameter.size == 1 and not block_size:
        return np.asarray(operation(x, parameter.reshape(())))
    axis %= x.ndim
    if not block_size:
        if parameter.ndim != 1 or parameter.size != x.shape[axis]:
            raise ExecutionError(
                f"a scale of shape {list(parameter.shape)} fits neither the tensor nor its axis {axis}",
                why=f"the tensor has shape {list(x.shape)}",
            )
        return np.asarray(operation(x, parameter.reshape((-1,) + (1,) * (x.ndim - 1 - axis))))
    dim = x.shape[axis]
    if dim % block_size:
        each = np.repeat(parameter, block_size, axis)[(slice(None),) * axis + (slice(dim),)]
        return np.asarray(operation(x, each))
    blocks = x.reshape(*x.shape[:axis], dim // block_size, block_size, *x.shape[axis + 1 :])
    return np.asarray(operation(blocks, np.expand_dims(parameter, axis + 1))).reshape(x.shape)


@kernel("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(x: Array, /) -> tuple[Array, Array, Array]:
    """x as uint8, with the scale and zero point that make its range, 0 included, fit.

        scale = (max - min) / 255;  zero = saturate(round(-min / scale));  y = saturate(round(x / scale) + zero)

    Where x is zero everywhere the formula has no answer; the scale is 1, as in onnxruntime.
    """
    low = np.min(x, initial=np.float32(0))
    high = np.max(x, initial=np.float32(0))
    scale = np.asarray((high - low) / np.float32(255), np.float32)
    if not scale:
        scale = np.ones((), np.float32)
    zero = saturated(np.asarray(np.rint(-low / scale)), _UINT8)
    return quantize_linear(x, scale, zero), scale, zero
