"""The four operations, remainders, powers and their one-operand relatives. Integers wrap on overflow."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.broadcast import before_opset_7
from exec.kernels.registry import kernel
from exec.kernels.widen import widened


@kernel("Add", since=7)
def add(a: Array, b: Array, /) -> Array:
    """a + b, broadcast."""
    return np.asarray(np.add(a, b))


@kernel("Sub", since=7)
def sub(a: Array, b: Array, /) -> Array:
    """a - b, broadcast."""
    return np.asarray(np.subtract(a, b))


@kernel("Mul", since=7)
def mul(a: Array, b: Array, /) -> Array:
    """a · b, broadcast."""
    return np.asarray(np.multiply(a, b))


@kernel("Div", since=7)
def div(a: Array, b: Array, /) -> Array:
    """a / b, broadcast; integer division truncates towards zero, and by zero it is an error."""
    kind = a.dtype.kind
    if kind in "iu" and not b.all():
        raise ExecutionError("an integer is divided by zero")
    if kind == "i":
        return np.asarray(np.floor_divide(np.subtract(a, np.fmod(a, b)), b))
    return np.asarray(np.floor_divide(a, b) if kind == "u" else np.divide(a, b))


kernel("Add")(before_opset_7(add))
kernel("Sub")(before_opset_7(sub))
kernel("Mul")(before_opset_7(mul))
kernel("Div")(before_opset_7(div))


@kernel("Mod", since=10)
@widened
def mod(a: Array, b: Array, /, *, fmod: int = 0) -> Array:
    """What a / b leaves: with the sign of b (fmod=0, a floored quotient) or of a (fmod=1, a truncated one)."""
    return np.asarray(np.fmod(a, b) if fmod else np.mod(a, b))


@kernel("Pow", since=7)
@widened
def power(x: Array, exponent: Array, /) -> Array:
    """x to the power of `exponent`, in the type of x.

    Integers stay exact while the exponent is a non-negative integer; otherwise the power is taken in float64 and
    truncated.
    """
    if exponent.size == 1 and x.dtype.kind == "f":
        value = float(exponent.reshape(()))
        shape = np.broadcast_shapes(x.shape, exponent.shape)
        if value == 2.0:
            return np.asarray(np.square(x)).reshape(shape)
        if value == 1.0:
            return x.reshape(shape)
    if x.dtype.kind == "f":
        return np.asarray(np.power(x, exponent.astype(x.dtype)))
    if exponent.dtype.kind in "iu" and not (exponent.dtype.kind == "i" and (exponent < 0).any()):
        return np.asarray(np.power(x, exponent.astype(x.dtype)))
    return np.asarray(np.power(x.astype(np.float64), exponent.astype(np.float64))).astype(x.dtype)


kernel("Pow")(before_opset_7(power))


@kernel("Neg")
def neg(x: Array, /) -> Array:
    """-x."""
    return np.asarray(np.negative(x))


@kernel("Abs")
def absolute(x: Array, /) -> Array:
    """|x|; the smallest integer of a type has no positive and stays."""
    return np.asarray(np.abs(x))


@kernel("Reciprocal")
@widened
def reciprocal(x: Array, /) -> Array:
    """1 / x."""
    return np.asarray(np.reciprocal(x))


@kernel("Sqrt")
@widened
def sqrt(x: Array, /) -> Array:
    """√x, NaN below zero."""
    return np.asarray(np.sqrt(x))


@kernel("Sign", since=9)
def sign(x: Array, /) -> Array:
    """-1, 0 or 1."""
    return np.asarray(np.sign(x))
