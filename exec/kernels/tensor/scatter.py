"""Write by index into a copy: ScatterElements, ScatterND, TensorScatter."""

from __future__ import annotations

from typing import Any

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.registry import kernel

_REDUCTIONS: dict[str, Any] = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


@kernel("Scatter", "ScatterElements", since=9)
def scatter_elements_9(x: Array, indices: Array, updates: Array, /, *, axis: int = 0) -> Array:
    """ScatterElements without a reduction, before opset 16."""
    return scatter_elements(x, indices, updates, axis=axis)


@kernel("ScatterElements", since=16)
def scatter_elements(x: Array, indices: Array, updates: Array, /, *, axis: int = 0, reduction: str = "none") -> Array:
    """A copy of x with y[i, indices[i, j, …], …] = updates[i, j, …], the index standing at `axis`.

    With a reduction (add, mul, min, max) an update is combined with what is there, and repeated indices all count.
    """
    axis %= x.ndim
    where = [np.arange(dim).reshape((-1,) + (1,) * (indices.ndim - 1 - k)) for k, dim in enumerate(indices.shape)]
    where[axis] = indices
    return _written(x, tuple(where), updates, reduction)


@kernel("ScatterND", since=11)
def scatter_nd(x: Array, indices: Array, updates: Array, /, *, reduction: str = "none") -> Array:
    """A copy of x whose slices at the index tuples along the last axis of `indices` are replaced by `updates`.

    With a reduction (add, mul, min, max) they are combined with what is there, and repeated indices all count.
    """
    return _written(x, tuple(indices[..., k] for k in range(indices.shape[-1])), updates, reduction)


def _written(x: Array, where: tuple[Array, ...], updates: Array, reduction: str) -> Array:
    y = x.copy()
    if reduction == "none":
        y[where] = updates
    elif reduction in _REDUCTIONS:
        _REDUCTIONS[reduction].at(y, where, updates)
    else:
        raise ExecutionError(f"the reduction '{reduction}' is unknown", why=f"known are none, {', '.join(_REDUCTIONS)}")
    return y


@kernel("TensorScatter", since=24)
def tensor_scatter(
    past: Array, update: Array, write_indices: Array | None = None, /, *, axis: int = -2, mode: str = "linear"
) -> Array:
    """A copy of a key or value cache with `update` written along `axis` from each batch entry's write index on.

    Shapes  past (b, …, max_length, …), update (b, …, length, …), write_indices (b).
    """
    axis %= past.ndim
    length, room = update.shape[axis], past.shape[axis]
    first = np.zeros(past.shape[0], np.int64) if write_indices is None else write_indices
    steps = first[:, None] + np.arange(length)
    if mode == "circular":
        steps %= room
    elif steps.size and int(steps.max()) >= room:
        raise ExecutionError(f"{length} steps from step {int(first.max())} on do not fit a cache of {room}")
    y = past.copy()
    view, new = np.moveaxis(y, axis, 1), np.moveaxis(update, axis, 1)
    view[np.arange(past.shape[0])[:, None], steps] = new
    return y
