"""The same elements under another shape: reshape, squeeze, transpose, expand, tile; and what a shape is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from exec.arrays import Array, Value
from exec.errors import ExecutionError
from exec.kernels.growth import fitting
from exec.kernels.registry import kernel


@kernel("Identity")
def identity(x: Value, /) -> Value:
    """x itself: a tensor, a sequence or an optional."""
    return x


@kernel("Shape")
def shape(x: Array, /, *, start: int = 0, end: int | None = None) -> Array:
    """The dims of x from `start` up to `end`, both counted from the back if negative and clamped to the rank."""
    return np.array(x.shape[start:end], np.int64)


@kernel("Size")
def size(x: Array, /) -> Array:
    """How many elements x has."""
    return np.array(x.size, np.int64)


@kernel("Reshape")
def reshape_1(x: Array, /, *, shape: Sequence[int] = ()) -> Array:
    """Reshape with the shape as an attribute, before opset 5."""
    return reshape(x, np.array(shape, np.int64))


@kernel("Reshape", since=5)
def reshape(x: Array, shape: Array, /, *, allowzero: int = 0) -> Array:
    """x in another shape: one -1 is what is left, a 0 keeps x's dim at that place (with allowzero=1 it is 0)."""
    dims = shape.tolist()
    kept = [k for k, dim in enumerate(dims) if dim == 0] if not allowzero else []
    if x.size == 0 and -1 in dims:
        # with no elements every size of the -1 fits; leave out what is kept, so that an empty batch keeps its features
        given = math.prod(dim for dim in dims if dim > 0)
        dims[dims.index(-1)] = math.prod(dim for k, dim in enumerate(x.shape) if k not in kept) // given
    for k in kept:
        dims[k] = x.shape[k]
    return x.reshape(dims)


@kernel("Squeeze")
def squeeze_1(x: Array, /, *, axes: Sequence[int] | None = None) -> Array:
    """Squeeze with the axes as an attribute, before opset 13."""
    return x.squeeze() if axes is None else x.squeeze(tuple(axes))


@kernel("Squeeze", since=13)
def squeeze(x: Array, axes: Array | None = None, /) -> Array:
    """x without the axes given, which must have length 1; without any axis of length 1 if none is given."""
    return x.squeeze() if axes is None else x.squeeze(tuple(axes.reshape(-1).tolist()))


@kernel("Unsqueeze")
def unsqueeze_1(x: Array, /, *, axes: Sequence[int]) -> Array:
    """Unsqueeze with the axes as an attribute, before opset 13."""
    return np.expand_dims(x, tuple(axes))


@kernel("Unsqueeze", since=13)
def unsqueeze(x: Array, axes: Array, /) -> Array:
    """x with axes of length 1 at the places given, which count in the result."""
    return np.expand_dims(x, tuple(axes.reshape(-1).tolist()))


@kernel("Transpose")
def transpose(x: Array, /, *, perm: Sequence[int] | None = None) -> Array:
    """x with its axes in the order `perm`, reversed by default."""
    return x.transpose(perm)


@kernel("Tile")
def tile_1(x: Array, tiles: Array, axis: Array, /) -> Array:
    """x repeated `tiles` times along `axis`, before opset 6."""
    repeats = [1] * x.ndim
    repeats[int(axis.reshape(()))] = int(tiles.reshape(()))
    return _tiled(x, repeats)


@kernel("Tile", since=6)
def tile(x: Array, repeats: Array, /) -> Array:
    """x repeated `repeats[k]` times along axis k."""
    counts = repeats.tolist()
    if len(counts) != x.ndim:
        raise ExecutionError(
            f"Tile got {len(counts)} repeats for {x.ndim} axes",
            why=f"repeats is {counts}, the input has shape {list(x.shape)}",
        )
    return _tiled(x, counts)


def _tiled(x: Array, counts: Sequence[int]) -> Array:
    fitting((dim * count for dim, count in zip(x.shape, counts, strict=True)), x.dtype)
    return np.tile(x, counts)
