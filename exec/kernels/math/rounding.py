"""To whole numbers, and into a range."""

from __future__ import annotations

from typing import Any

import numpy as np

from exec.arrays import Array
from exec.kernels.registry import kernel
from exec.kernels.widen import widened


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
def clip_6(x: Array, /, *, min: float | None = None, max: float | None = None) -> Array:
    """x kept in [min, max]; before opset 11 the bounds are attributes, by default the largest finite float32."""
    limit = float(np.finfo(np.float32).max)
    return np.asarray(np.clip(x, -limit if min is None else min, limit if max is None else max))


@kernel("Clip", since=11)
@widened
def clip(x: Array, min: Array | None = None, max: Array | None = None, /) -> Array:
    """min(max(x, min), max): where min is above max, max counts; a missing bound is none; NaN stays.

    Both bounds are always given to numpy: with one of them it takes a path half as fast.
    """
    low = lowest(x.dtype) if min is None else min.reshape(())
    high = highest(x.dtype) if max is None else max.reshape(())
    return np.asarray(np.clip(x, low, high))
