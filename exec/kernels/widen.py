"""Narrow floats (16 bits and less) are computed in float32 and rounded once, at the end.

numpy's float16 arithmetic is correct but slow (a matmul 250 times slower than in float32), `ml_dtypes` has no matmul,
and a formula rounded after each of its steps is further from the specification's definition than one rounding.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from exec.arrays import Array, Value
from exec.dtypes import TABLE

NARROW = frozenset(row.numpy for row in TABLE if row.is_float and row.bits < 32)
"""numpy dtypes of floats narrower than float32."""

F = TypeVar("F", bound=Callable[..., Any])


def wide(x: Array) -> Array:
    """`x` in float32 if it is a narrow float, else `x` itself."""
    return x.astype(np.float32) if x.dtype in NARROW else x


def widened(function: F) -> F:
    """A kernel that gets narrow floats in float32, and whose float32 outputs are rounded to the first narrow type."""

    @functools.wraps(function)
    def call(*inputs: Value, **attributes: Any) -> Value:
        narrow = None
        for x in inputs:
            if isinstance(x, np.ndarray) and x.dtype in NARROW:
                narrow = x.dtype
                break
        if narrow is None:
            return function(*inputs, **attributes)
        result = function(*[wide(x) if isinstance(x, np.ndarray) else x for x in inputs], **attributes)
        if isinstance(result, tuple):
            return tuple(_rounded(r, narrow) for r in result)
        return _rounded(result, narrow)

    return cast(F, call)


def _rounded(result: Value, narrow: np.dtype[Any]) -> Value:
    if isinstance(result, (np.ndarray, np.generic)) and result.dtype == np.float32:
        return np.asarray(result).astype(narrow)
    return result
