"""Circular and hyperbolic functions and their inverses."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.kernels.registry import kernel
from exec.kernels.widen import widened


@kernel("Sin", since=7)
@widened
def sin(x: Array, /) -> Array:
    """Sine."""
    return np.asarray(np.sin(x))


@kernel("Cos", since=7)
@widened
def cos(x: Array, /) -> Array:
    """Cosine."""
    return np.asarray(np.cos(x))


@kernel("Tan", since=7)
@widened
def tan(x: Array, /) -> Array:
    """Tangent."""
    return np.asarray(np.tan(x))


@kernel("Asin", since=7)
@widened
def asin(x: Array, /) -> Array:
    """Arc sine, NaN outside [-1, 1]."""
    return np.asarray(np.arcsin(x))


@kernel("Acos", since=7)
@widened
def acos(x: Array, /) -> Array:
    """Arc cosine, NaN outside [-1, 1]."""
    return np.asarray(np.arccos(x))


@kernel("Atan", since=7)
@widened
def atan(x: Array, /) -> Array:
    """Arc tangent."""
    return np.asarray(np.arctan(x))


@kernel("Sinh", since=9)
@widened
def sinh(x: Array, /) -> Array:
    """Hyperbolic sine."""
    return np.asarray(np.sinh(x))


@kernel("Cosh", since=9)
@widened
def cosh(x: Array, /) -> Array:
    """Hyperbolic cosine."""
    return np.asarray(np.cosh(x))


@kernel("Tanh")
@widened
def tanh(x: Array, /) -> Array:
    """Hyperbolic tangent."""
    return np.asarray(np.tanh(x))


@kernel("Asinh", since=9)
@widened
def asinh(x: Array, /) -> Array:
    """Inverse hyperbolic sine."""
    return np.asarray(np.arcsinh(x))


@kernel("Acosh", since=9)
@widened
def acosh(x: Array, /) -> Array:
    """Inverse hyperbolic cosine, NaN below 1."""
    return np.asarray(np.arccosh(x))


@kernel("Atanh", since=9)
@widened
def atanh(x: Array, /) -> Array:
    """Inverse hyperbolic tangent, NaN outside [-1, 1]."""
    return np.asarray(np.arctanh(x))
