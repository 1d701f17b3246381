"""Seeded values to hold two sides of a rewrite against each other: ordinary ones, and those a wrong rewrite hopes never to meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from exec.arrays import Array

LEVELS = ("plain", "wide", "far", "extreme")
"""plain    around zero; integers that may be indices: 0 and 1
wide     both signs, exact zeros and halves; integers from −3 to 8
far      up to 10,000 in float32 and wider, where exponentials overflow; integers as in wide
extreme  NaN, the infinities and negative zero among ordinary numbers; integers to the ends of their type"""

NARROW = frozenset(
    np.dtype(t) for t in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz)
)
"""Floats that numpy does not know as such."""

WORDS = ("a", "", "B b", "ü", "a")


def drawable(dtype: np.dtype[np.generic]) -> bool:
    """Whether `drawn` knows values of this type."""
    return dtype.kind in "fiubO" or dtype in NARROW


def drawn(shape: Sequence[int], dtype: np.dtype[np.generic], rng: np.random.Generator, level: str = "plain") -> Array:
    """An array of the type and shape."""
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "O":
        return np.asarray(rng.choice(np.array(WORDS, object), shape), object)
    if dtype.kind in "iu":
        return _integers(shape, dtype, rng, level)
    # a narrow type overflows before the formula does
    return _floats(shape, rng, "wide" if level == "far" and dtype.itemsize <= 2 else level).astype(dtype)


def _integers(shape: Sequence[int], dtype: np.dtype[np.generic], rng: np.random.Generator, level: str) -> Array:
    info: Any = np.iinfo(str(dtype))
    if level == "plain":
        return rng.integers(0, 2, shape).astype(dtype)
    if level in ("wide", "far"):
        return rng.integers(max(-3, int(info.min)), min(8, int(info.max)), shape, endpoint=True).astype(dtype)
    whole = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    ends = rng.choice(np.array([info.min, info.max, info.min + 1, info.max - 1, 0, 1], dtype), shape)
    return np.asarray(np.where(rng.random(shape) < 0.5, ends, whole), dtype)


def _floats(shape: Sequence[int], rng: np.random.Generator, level: str) -> Array:
    values = np.asarray(rng.standard_normal(shape), np.float64)
    if level == "plain":
        return values
    if level == "far":
        return values * 10.0 ** np.asarray(rng.uniform(0, 3.5, shape))
    chance = np.asarray(rng.random(shape))
    if level == "wide":
        values = 3.0 * values
        values = np.where(chance < 0.1, 0.0, values)
        return np.where((chance >= 0.1) & (chance < 0.25), np.round(2.0 * values) / 2.0, values)
    for k, special in enumerate((np.nan, np.inf, -np.inf, -0.0)):
        values = np.where((chance >= 0.04 * k) & (chance < 0.04 * (k + 1)), special, values)
    if values.size:
        # small regions get one, too
        values.reshape(-1)[int(rng.integers(values.size))] = rng.choice([np.nan, np.inf, -np.inf])
    return values


__all__ = ["LEVELS", "drawable", "drawn"]
