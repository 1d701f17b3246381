"""Change of element type: Cast, CastLike, BitCast."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.dtypes import BY_NAME, from_numpy
from exec.errors import ExecutionError
from exec.kernels.conversion import converted, dtype_of
from exec.kernels.registry import kernel


@kernel("Cast")
def cast_1(x: Array, /, *, to: str) -> Array:
    """Cast in versions 1 to 5, where the type is named: "FLOAT", "INT64"."""
    return converted(x, BY_NAME[to].numpy)


@kernel("Cast", since=6)
def cast(x: Array, /, *, to: int, saturate: int = 1, round_mode: str = "up") -> Array:
    """x in the element type `to` (a TensorProto.DataType)."""
    return converted(x, dtype_of(to), saturate=bool(saturate), round_mode=round_mode)


@kernel("CastLike", since=15)
def cast_like(x: Array, target: Array, /, *, saturate: int = 1, round_mode: str = "up") -> Array:
    """x in the element type of `target`."""
    return converted(x, target.dtype, saturate=bool(saturate), round_mode=round_mode)


@kernel("BitCast", since=26)
def bit_cast(x: Array, /, *, to: int) -> Array:
    """The same bits read as another element type of the same width."""
    dtype = dtype_of(to)
    if from_numpy(x.dtype).bits != from_numpy(dtype).bits:
        raise ExecutionError(f"{x.dtype} and {dtype} differ in width, so one's bits are not the other's")
    return np.ascontiguousarray(x).view(dtype).reshape(x.shape)
