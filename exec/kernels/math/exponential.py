"""Exponential, logarithm and the error function."""

from __future__ import annotations

import math

import numpy as np

from exec.arrays import Array
from exec.kernels.registry import kernel
from exec.kernels.tiled import tiled
from exec.kernels.widen import widened


@kernel("Exp")
@widened
def exp(x: Array, /) -> Array:
    """e to the power of x."""
    return np.asarray(np.exp(x))


@kernel("Log")
@widened
def log(x: Array, /) -> Array:
    """Natural logarithm: -inf at 0, NaN below."""
    return np.asarray(np.log(x))


_ATANH_ERF = (1.1283797, 0.102765486, -0.00018438502, -0.00062571833, 8.9712026e-05, -5.985579e-06, 1.5895213e-07)
_FLAT_FROM = 3.9  # erf is 1 in float32 from here on


@kernel("Erf", since=9)
@tiled
@widened
def erf(x: Array, /) -> Array:
    """The error function, 2/√π ∫₀ˣ exp(-t²) dt.

        erf(x) = tanh(x · P(x²))

    Types   float32: P of degree 6, fitted to atanh(erf(x))/x with the weight (1 - erf²)·x, so that the error after
            tanh is even: 1.4e-7 at most, against 7e-6 for the unweighted fit. float64: the C library's.
    """
    if x.dtype == np.float64:
        return np.frompyfunc(math.erf, 1, 1)(x, out=np.empty(x.shape, object), casting="unsafe").astype(np.float64)
    if x.dtype.kind != "f":
        return erf(x.astype(np.float32)).astype(x.dtype)
    clamped = np.clip(x, -_FLAT_FROM, _FLAT_FROM, out=np.empty_like(x))
    square = np.square(clamped, out=np.empty_like(x))
    y = np.multiply(square, np.float32(_ATANH_ERF[-1]), out=np.empty_like(x))
    for coefficient in _ATANH_ERF[-2:0:-1]:
        y += np.float32(coefficient)
        y *= square
    y += np.float32(_ATANH_ERF[0])
    y *= clamped
    return np.tanh(y, out=y)
