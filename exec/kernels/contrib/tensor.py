"""Ops of the contrib domain that ai.onnx took over later, or that only move elements."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.kernels.contrib.activation import DOMAIN
from exec.kernels.generator import arange
from exec.kernels.registry import kernel
from exec.kernels.tensor.gather import gather_nd
from exec.kernels.tensor.pad import pad
from exec.kernels.tensor.select import trilu
from exec.kernels.widen import widened

kernel("Trilu", domain=DOMAIN)(trilu)


@kernel("GatherND", domain=DOMAIN)
def gather_nd_contrib(x: Array, indices: Array, /) -> Array:
    """GatherND without batch axes."""
    return gather_nd(x, indices)


@kernel("ExpandDims", domain=DOMAIN)
def expand_dims(x: Array, axis: Array, /) -> Array:
    """x with an axis of length 1 more."""
    return np.expand_dims(x, int(axis.reshape(())))


@kernel("Inverse", domain=DOMAIN)
@widened
def inverse(x: Array, /) -> Array:
    """The inverse of each matrix of the last two axes."""
    return np.asarray(np.linalg.inv(x))


@kernel("Pad", domain=DOMAIN)
def pad_contrib(x: Array, pads: Array, value: Array | None = None, /, *, mode: str = "constant") -> Array:
    """Pad; the pads may also be a row of a matrix."""
    return pad(x, pads.reshape(-1), value, mode=mode)


@kernel("Range", domain=DOMAIN)
def range_contrib(start: Array, limit: Array, delta: Array | None = None, /) -> Array:
    """start, start + delta, … before `limit`; the step is 1 if there is none."""
    return arange(start, limit, np.ones((), start.dtype) if delta is None else delta)
