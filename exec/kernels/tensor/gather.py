"""Read by index: Gather, GatherElements, GatherND, Compress, ReverseSequence."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.kernels.registry import kernel


@kernel("Gather")
def gather(x: Array, indices: Array, /, *, axis: int = 0) -> Array:
    """x's slices along `axis` at `indices`, in the shape of `indices`; a negative index counts from the back.

    Shapes  x (…, d_axis, …), indices (i…) → (…, i…, …).
    """
    if indices.ndim:
        return np.take(x, indices, axis)
    axis %= x.ndim
    return np.take(x, indices.reshape(1), axis).reshape(x.shape[:axis] + x.shape[axis + 1 :])


@kernel("GatherElements", since=11)
def gather_elements(x: Array, indices: Array, /, *, axis: int = 0) -> Array:
    """y[i, j, …] = x[i, indices[i, j, …], …], the index standing at `axis`.

    On the other axes `indices` may be shorter than x.
    """
    axis %= x.ndim
    part = tuple(slice(None) if k == axis else slice(dim) for k, dim in enumerate(indices.shape))
    return np.take_along_axis(x[part], indices, axis)


@kernel("GatherND", since=11)
def gather_nd(x: Array, indices: Array, /, *, batch_dims: int = 0) -> Array:
    """x's slices at the index tuples along the last axis of `indices`, batch by batch.

    Shapes  x (b…, d…), indices (b…, i…, k) → (b…, i…, d[k:]…).
    """
    keys = tuple(indices[..., k] for k in range(indices.shape[-1]))
    batch = tuple(np.arange(x.shape[k]).reshape((-1,) + (1,) * (indices.ndim - 2 - k)) for k in range(batch_dims))
    return np.asarray(x[batch + keys], x.dtype)


@kernel("Compress", since=9)
def compress(x: Array, condition: Array, /, *, axis: int | None = None) -> Array:
    """The slices of x along `axis` (of x flattened, without one) where `condition` holds; it may end early."""
    return np.compress(condition, x, axis)


@kernel("ReverseSequence", since=10)
def reverse_sequence(x: Array, lengths: Array, /, *, batch_axis: int = 1, time_axis: int = 0) -> Array:
    """The first `lengths[b]` steps of batch entry b in reverse order, the rest as it is."""
    time = np.arange(x.shape[time_axis])[:, None]
    order = np.where(time < lengths, lengths - 1 - time, time)
    steps = np.moveaxis(x, (time_axis, batch_axis), (0, 1))
    return np.moveaxis(steps[order, np.arange(x.shape[batch_axis])], (0, 1), (time_axis, batch_axis))
