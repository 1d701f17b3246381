"""A two-dimensional piece of a weight, as numbers: two of its axes, one index for each of the others."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from exec.arrays import Array

Axes = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Slice:
    """The piece.

    index   one entry an axis; None for the two that are shown
    values  two-dimensional
    count   how many such pieces there are
    """

    index: tuple[int | None, ...]
    values: Array
    count: int


def axis_pairs(shape: tuple[int, ...]) -> list[Axes]:
    """The pairs of axes that can be shown, the one with the most elements first."""
    pairs = list(combinations(range(len(shape)), 2))
    return sorted(pairs, key=lambda p: (-shape[p[0]] * shape[p[1]], -p[0], -p[1]))


def slice_of(values: Array, number: int, axes: Axes | None = None) -> Slice:
    """The piece of a number; it wraps around. Fewer than two axes are shown as one row.

    axes   which two are shown; the last two without
    """
    if values.ndim < 2:
        return Slice((None,) * values.ndim, values.reshape(1, -1), 1)
    shown = axes or (values.ndim - 2, values.ndim - 1)
    others = [k for k in range(values.ndim) if k not in shown]
    lead = [values.shape[k] for k in others]
    count = int(np.prod(lead)) if lead else 1
    at: tuple[Any, ...] = np.unravel_index(number % count, lead) if lead and count else (0,) * len(others)
    index: list[int | None] = [None] * values.ndim
    for axis, place in zip(others, at, strict=True):
        index[axis] = int(place)
    piece = np.moveaxis(values, others, range(len(others)))
    whole = tuple(int(i) for i in at)
    return Slice(tuple(index), piece[whole] if count else np.zeros((0, values.shape[shown[1]]), values.dtype), count)
