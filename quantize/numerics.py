"""From a real range to integers: scales, zero points, rounding, saturation. One place for every rule.

A value is q = saturate(round_half_even(x / scale) + zero_point) and comes back as (q − zero_point)·scale (ONNX QuantizeLinear-13).
The range always includes 0, so that padding and Relu's zeros are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exec.arrays import Array

TINY = float(np.finfo(np.float32).tiny)
PART = 1 << 20  # elements at a time


@dataclass(frozen=True, slots=True)
class IntType:
    """An integer type values are stored in.

    low, high   the whole range of the type
    symmetric   the zero point is 0 (s8, s16, s4) and the range is ±high
    is_float    of float8: values are rounded to its own uneven steps
    """

    name: str
    dtype: np.dtype[np.generic]
    low: int
    high: int
    symmetric: bool
    is_float: bool = False

    @property
    def bits(self) -> int:
        """Bits a value takes in a file."""
        return 8 if self.is_float else (self.high - self.low).bit_length()


def _types() -> dict[str, IntType]:
    import ml_dtypes

    return {
        "u8": IntType("u8", np.dtype(np.uint8), 0, 255, False),
        "s8": IntType("s8", np.dtype(np.int8), -128, 127, True),
        "u16": IntType("u16", np.dtype(np.uint16), 0, 65535, False),
        "s16": IntType("s16", np.dtype(np.int16), -32768, 32767, True),
        "u4": IntType("u4", np.dtype(ml_dtypes.uint4), 0, 15, False),
        "s4": IntType("s4", np.dtype(ml_dtypes.int4), -8, 7, True),
        "f8": IntType("f8", np.dtype(ml_dtypes.float8_e4m3fn), -448, 448, True, is_float=True),
        "s32": IntType("s32", np.dtype(np.int32), -(2**31), 2**31 - 1, True),
    }


TYPES = _types()


@dataclass(frozen=True, slots=True)
class Params:
    """Scale and zero point, one each or one a channel along `axis`."""

    scale: Array
    zero_point: Array
    kind: IntType
    axis: int | None = None


def params(
    low: Array | float, high: Array | float, kind: IntType, *, symmetric: bool | None = None, axis: int | None = None
) -> Params:
    """Scale and zero point for the range [low, high] (scalars, or one entry a channel).

    symmetric   overrides the type's habit: activations in s8 are not symmetric, weights are
    A range of no width (a dead channel, a constant 0) gets scale 1 and zero point 0: zeros stay zeros and nothing divides by zero.
    """
    balanced = kind.symmetric if symmetric is None or kind.is_float else symmetric
    lo = np.minimum(np.asarray(low, np.float64), 0.0)
    hi = np.maximum(np.asarray(high, np.float64), 0.0)
    if balanced:
        reach = np.maximum(-lo, hi)
        half = kind.high if kind.low < 0 else (kind.high - kind.low) / 2
        scale, zero = reach / half, np.full(lo.shape, 0 if kind.low < 0 else (kind.high + 1) // 2, np.float64)
    else:
        scale = (hi - lo) / (kind.high - kind.low)
        safe = np.where(scale < TINY, 1.0, scale)
        zero = np.clip(np.rint(kind.low - lo / safe), kind.low, kind.high)
    flat = scale < TINY
    scale32 = np.where(flat, 1.0, scale).astype(np.float32)
    return Params(
        scale32,
        np.where(flat, 0 if balanced and kind.low < 0 else np.clip(0, kind.low, kind.high), zero).astype(kind.dtype),
        kind,
        axis,
    )


def quantize(values: Array, how: Params) -> Array:
    """Integers of `values`: round half to even, add the zero point, saturate to the type's whole range.

    The division is in float32, as runtimes and the specification have it; in float64 where 24 bits cannot hold the result.
    """
    precise = np.float64 if how.kind.bits > 16 else np.float32
    scale, zero = _shaped(how, values.ndim)
    if values.ndim > 1 and len(values) > 1 and values.size > PART:  # what lies between is four times what comes out
        parts = range(0, len(values), max(1, PART * len(values) // values.size))
        step = parts.step
        along = how.axis == 0 and how.scale.ndim > 0
        cut = [
            Params(how.scale[k : k + step], how.zero_point[k : k + step], how.kind, 0) if along else how for k in parts
        ]
        whole = np.empty(values.shape, how.kind.dtype)
        for k, its in zip(parts, cut, strict=True):
            whole[k : k + step] = quantize(values[k : k + step], its)
        return whole
    wide = values.astype(precise)
    np.divide(wide, scale.astype(precise), out=wide)
    if how.kind.is_float:
        rounded: Array = np.clip(wide, how.kind.low, how.kind.high).astype(how.kind.dtype)
        return rounded
    np.rint(wide, out=wide)
    if how.zero_point.astype(np.float64).any():
        np.add(wide, zero.astype(precise), out=wide)
    low = how.kind.low + (how.kind.symmetric and how.kind.bits >= 8 and not zero.any())
    np.clip(wide, low, how.kind.high, out=wide)
    return wide.astype(how.kind.dtype)


def dequantize(values: Array, how: Params) -> Array:
    """Back to float32."""
    scale, zero = _shaped(how, values.ndim)
    if how.kind.bits > 16:
        return ((values.astype(np.float64) - zero) * scale).astype(np.float32)
    wide = values.astype(np.float32)
    wide -= zero.astype(np.float32)
    wide *= scale
    return wide


def _shaped(how: Params, rank: int) -> tuple[Array, Array]:
    zero = how.zero_point.astype(np.float64)
    if how.axis is None or how.scale.ndim == 0:
        return how.scale, zero
    shape = [1] * rank
    shape[how.axis] = -1
    return how.scale.reshape(shape), zero.reshape(shape)


def weight_params(values: Array, kind: IntType, axis: int | None) -> Params:
    """Symmetric range of a weight, one a channel along `axis`, or one for all."""
    others = tuple(k for k in range(values.ndim) if k != axis)
    top = np.maximum(values.max(others, initial=0.0), -values.min(others, initial=0.0)).astype(np.float32)
    return params(-top, top, kind, symmetric=True, axis=axis)


def bias_params(activation: Params, weight: Params) -> Params:
    """An int32 bias lies on the accumulator's grid: scale s_x·s_w, zero point 0."""
    scale = (activation.scale.astype(np.float64) * weight.scale.astype(np.float64)).astype(np.float32)
    return Params(scale, np.zeros(scale.shape, np.int32), TYPES["s32"], 0 if scale.ndim else None)
