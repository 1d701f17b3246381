"""A two-dimensional piece of a weight, as numbers: the last two axes, one index for each axis before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exec.arrays import Array


@dataclass(frozen=True, slots=True)
class Slice:
    """The piece.

    index   of the axes before the last two
    values  two-dimensional
    count   how many such pieces there are
    """

    index: tuple[int, ...]
    values: Array
    count: int


def slice_of(values: Array, number: int) -> Slice:
    """The piece of a number; it wraps around. Fewer than two axes are shown as one row."""
    if values.ndim < 2:
        return Slice((), values.reshape(1, -1), 1)
    lead = values.shape[:-2]
    count = int(np.prod(lead)) if lead else 1
    index = tuple(int(i) for i in np.unravel_index(number % max(count, 1), lead)) if lead and count else ()
    return Slice(index, values[index] if count else values.reshape(-1, values.shape[-1]), count)
