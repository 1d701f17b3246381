"""How a value becomes one of another type: what Cast, CastLike and the quantizing ops share."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from exec.arrays import Array
from exec.dtypes import BY_CODE, TABLE
from exec.errors import ExecutionError

_FLOAT8 = frozenset(BY_CODE[code].numpy for code in (17, 18, 19, 20))
_E8M0: np.dtype[Any] = np.dtype(ml_dtypes.float8_e8m0fnu)
_STRING: np.dtype[Any] = np.dtype(object)
_NARROW_INTEGERS = frozenset(row.numpy for row in TABLE if row.is_integer and row.bits < 8)


def dtype_of(code: int) -> np.dtype[Any]:
    """The numpy dtype of a TensorProto.DataType."""
    row = BY_CODE.get(code)
    if row is None:
        raise ExecutionError(f"the tensor type {code} is unknown", hint="known are the values of TensorProto.DataType")
    return row.numpy


def converted(x: Array, dtype: np.dtype[Any], *, saturate: bool = True, round_mode: str = "up") -> Array:
    """x in `dtype`, by the rules of Cast: floats round to nearest even, integers keep their low bits.

    saturate    float8: out of range and ±inf become the largest finite value; without it, what the type has for them
    round_mode  float8e8m0: "up", "down" or "nearest"
    """
    if x.dtype == dtype:
        return x
    if dtype == _STRING:
        return _text(x)
    if x.dtype.kind in "OUST":
        return _parsed(x, dtype)
    if dtype in _FLOAT8:
        return _float8(x, dtype) if saturate else _through_float32(x).astype(dtype)
    if dtype == _E8M0:
        return _e8m0(x, saturate, round_mode)
    if dtype in _NARROW_INTEGERS and x.dtype.kind not in "iub" and x.dtype not in _NARROW_INTEGERS:
        return x.astype(np.int32).astype(dtype)
    return x.astype(dtype)


def _through_float32(x: Array) -> Array:
    return x if x.dtype.kind == "f" else x.astype(np.float32)


def _float8(x: Array, dtype: np.dtype[Any]) -> Array:
    largest = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
    return np.asarray(np.clip(_through_float32(x), -largest, largest)).astype(dtype)


def _e8m0(x: Array, saturate: bool, round_mode: str) -> Array:
    """Powers of two from 2⁻¹²⁷ (code 0) to 2¹²⁷ (code 254); code 255 is NaN."""
    values = x.astype(np.float32)
    bits = np.ascontiguousarray(values).view(np.uint32).reshape(values.shape)
    exponent = ((bits >> 23) & 0xFF).astype(np.int32)
    # what is left over the power of two below, in 2⁻²³: float32's subnormals continue below 2⁻¹²⁶ with no hidden bit
    rest = (bits & 0x7FFFFF).astype(np.int32)
    tiny = exponent == 0
    rest = np.where(tiny, np.maximum(rest * 2 - 0x800000, 0), rest)
    if round_mode == "up":
        exponent = exponent + (rest > 0)
    elif round_mode == "nearest":
        exponent = exponent + (rest >= 0x400000)
    elif round_mode != "down":
        raise ExecutionError(f"the rounding mode '{round_mode}' is unknown", why="known are up, down and nearest")
    if saturate:
        code = np.where(np.isnan(values), 255, np.minimum(exponent, 254))
    else:
        code = np.where(np.isnan(values) | (np.abs(values) < 2.0**-127), 255, np.minimum(exponent, 255))
    return code.astype(np.uint8).view(_E8M0)


def _text(x: Array) -> Array:
    """Each number in the shortest decimal form that reads back as itself."""
    return (x if x.dtype.kind in "iubf" else x.astype(np.float32)).astype(str).astype(object)


def _parsed(x: Array, dtype: np.dtype[Any]) -> Array:
    read = _integer if dtype.kind in "iub" or dtype in _NARROW_INTEGERS else float
    flat = [read(s.decode() if isinstance(s, bytes) else str(s)) for s in x.reshape(-1).tolist()]
    carrier: Any = np.float64 if read is float else np.int64 if dtype in _NARROW_INTEGERS else object
    return np.array(flat, carrier).reshape(x.shape).astype(dtype)


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        return int(float(text))
