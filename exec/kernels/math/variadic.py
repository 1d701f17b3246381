"""Elementwise over any number of inputs, broadcast."""

from __future__ import annotations

from functools import reduce

import numpy as np

from exec.arrays import Array
from exec.kernels.registry import kernel
from exec.kernels.widen import widened


@kernel("Max")
def maximum(*xs: Array) -> Array:
    """The largest; a NaN wins."""
    return np.asarray(reduce(np.maximum, xs))


@kernel("Min")
def minimum(*xs: Array) -> Array:
    """The smallest; a NaN wins."""
    return np.asarray(reduce(np.minimum, xs))


@kernel("Sum")
@widened
def total(*xs: Array) -> Array:
    """x0 + x1 + …, from the left."""
    return np.asarray(reduce(np.add, xs))


@kernel("Mean")
@widened
def mean(*xs: Array) -> Array:
    """(x0 + x1 + …) / n."""
    return np.asarray(np.true_divide(reduce(np.add, xs), len(xs), dtype=xs[0].dtype))
