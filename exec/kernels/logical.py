"""Kernels of ONNX family logical: comparisons, truth values and bits."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.broadcast import before_opset_7
from exec.kernels.registry import kernel


@kernel("And", since=7)
def logical_and(a: Array, b: Array, /) -> Array:
    """a and b, broadcast."""
    return np.asarray(np.logical_and(a, b))


@kernel("Or", since=7)
def logical_or(a: Array, b: Array, /) -> Array:
    """a or b, broadcast."""
    return np.asarray(np.logical_or(a, b))


@kernel("Xor", since=7)
def logical_xor(a: Array, b: Array, /) -> Array:
    """One of a and b, not both, broadcast."""
    return np.asarray(np.logical_xor(a, b))


@kernel("Not")
def logical_not(x: Array, /) -> Array:
    """Not x."""
    return np.asarray(np.logical_not(x))


@kernel("Equal", since=7)
def equal(a: Array, b: Array, /) -> Array:
    """a = b, broadcast; NaN equals nothing, strings are compared by character."""
    return np.asarray(np.equal(a, b)).astype(np.bool_, copy=False)


@kernel("Greater", since=7)
def greater(a: Array, b: Array, /) -> Array:
    """a > b, broadcast."""
    return np.asarray(np.greater(a, b))


@kernel("Less", since=7)
def less(a: Array, b: Array, /) -> Array:
    """a < b, broadcast."""
    return np.asarray(np.less(a, b))


@kernel("GreaterOrEqual", since=12)
def greater_or_equal(a: Array, b: Array, /) -> Array:
    """a >= b, broadcast; false where either is NaN."""
    return np.asarray(np.greater_equal(a, b))


@kernel("LessOrEqual", since=12)
def less_or_equal(a: Array, b: Array, /) -> Array:
    """a <= b, broadcast; false where either is NaN."""
    return np.asarray(np.less_equal(a, b))


kernel("And")(before_opset_7(logical_and))
kernel("Or")(before_opset_7(logical_or))
kernel("Xor")(before_opset_7(logical_xor))
kernel("Equal")(before_opset_7(equal))
kernel("Greater")(before_opset_7(greater))
kernel("Less")(before_opset_7(less))


@kernel("BitwiseAnd", since=18)
def bitwise_and(a: Array, b: Array, /) -> Array:
    """The bits set in both, broadcast."""
    return np.asarray(np.bitwise_and(a, b))


@kernel("BitwiseOr", since=18)
def bitwise_or(a: Array, b: Array, /) -> Array:
    """The bits set in either, broadcast."""
    return np.asarray(np.bitwise_or(a, b))


@kernel("BitwiseXor", since=18)
def bitwise_xor(a: Array, b: Array, /) -> Array:
    """The bits set in one of the two, broadcast."""
    return np.asarray(np.bitwise_xor(a, b))


@kernel("BitwiseNot", since=18)
def bitwise_not(x: Array, /) -> Array:
    """The bits not set."""
    return np.asarray(np.bitwise_not(x))


@kernel("BitShift", since=11)
def bit_shift(x: Array, by: Array, /, *, direction: str) -> Array:
    """The bits of x moved by `by` places, LEFT or RIGHT; to the right the sign is drawn in.

    By as many places as x has bits, or by a negative number, nothing but the sign is left.
    """
    if direction not in ("LEFT", "RIGHT"):
        raise ExecutionError(f"the direction '{direction}' is unknown", why="known are LEFT and RIGHT")
    if direction == "LEFT":
        return np.asarray(np.left_shift(x, by))
    return np.asarray(np.right_shift(x, by))
