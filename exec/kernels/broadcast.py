"""Broadcasting as it was before opset 7: the second operand's axes are laid along the first's from `axis` on."""

from __future__ import annotations

from collections.abc import Callable

from exec.arrays import Array
from exec.errors import ExecutionError

Binary = Callable[[Array, Array], Array]


def lined_up(a: Array, b: Array, axis: int | None, broadcast: int) -> Array:
    """`b` with trailing axes of length 1, so that numpy's rule does what `axis` and `broadcast` ask."""
    if not broadcast and a.shape != b.shape:
        raise ExecutionError(
            f"shapes {list(a.shape)} and {list(b.shape)} differ, and `broadcast` is not set",
            hint="`owb convert --opset 13` brings numpy's rule, which needs no attribute",
        )
    if axis is None or b.ndim == 0:
        return b
    start = axis + a.ndim if axis < 0 else axis
    return b.reshape(b.shape + (1,) * (a.ndim - start - b.ndim))


def before_opset_7(function: Binary) -> Callable[..., Array]:
    """`function` (a kernel of two broadcasting operands) with the attributes it had before opset 7."""

    def kernel(a: Array, b: Array, /, *, axis: int | None = None, broadcast: int = 0) -> Array:
        return function(a, lined_up(a, b, axis, broadcast))

    kernel.__module__ = function.__module__
    kernel.__name__ = f"{function.__name__}_1"
    kernel.__doc__ = (
        f"{function.__doc__}\n\n    Before opset 7: `b` lies along `axis` and on, and only with broadcast=1."
    )
    return kernel
