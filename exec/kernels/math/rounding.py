"""To whole numbers, and into a range."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from exec.arrays import Array
from exec.dtypes import from_numpy
from exec.kernels.registry import kernel
from exec.kernels.widen import wide, widened

_LARGEST = float(np.finfo(np.float32).max)


@kernel("Ceil")
@widened
def ceil(x: Array, /) -> Array:
    """The next whole number up."""
    return np.asarray(np.ceil(x))


@kernel("Floor")
@widened
def floor(x: Array, /) -> Array:
    """The next whole number down."""
    return np.asarray(np.floor(x))


@kernel("Round", since=11)
@widened
def round_half_even(x: Array, /) -> Array:
    """The nearest whole number, halves to the even one."""
    return np.asarray(np.rint(x))


def lowest(dtype: np.dtype[Any]) -> Any:
    """The value of `dtype` that no other is below."""
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def highest(dtype: np.dtype[Any]) -> Any:
    """The value of `dtype` that no other is above."""
    return np.iinfo(dtype).max if dtype.kind in "iu" else np.inf


@kernel("Clip")
@widened
def clip_6(x: Array, /, *, min: float = -_LARGEST, max: float = _LARGEST) -> Array:
    """x kept in [min, max]; before opset 11 the bounds are attributes, by default the largest finite float32."""
    return np.asarray(np.clip(x, min, max))


@kernel("Clip", since=11)
def clip(x: Array, min: Array | None = None, max: Array | None = None, /) -> Array:
    """min(max(x, min), max): where min is above max, max counts; NaN stays.

    A missing bound is the lowest or the largest finite value of the type, so that -inf becomes finite. Both bounds are
    always given to numpy: with one of them it takes a path half as fast.
    """
    limits: Any = ml_dtypes.finfo if from_numpy(x.dtype).is_float else np.iinfo
    real = wide(x)
    low = np.array(limits(x.dtype).min if min is None else min, real.dtype).reshape(())
    high = np.array(limits(x.dtype).max if max is None else max, real.dtype).reshape(())
    return np.asarray(np.clip(real, low, high)).astype(x.dtype, copy=False)
