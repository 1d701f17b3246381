"""What a node of any opset says: axes, bounds and permutations, wherever they stand."""

from __future__ import annotations

from typing import Any

import numpy as np

from exec.arrays import Array
from exec.ir import Node
from passes.region import Region


def axis_of(node: Node, region: Region, default: int, rank: int | None = None) -> int | None:
    """The `axis` attribute, counted from the front; None where the rank is unknown."""
    axis = int(node.attrs.get("axis", default))
    if axis >= 0:
        return axis
    if rank is None:
        rank = region.rank(node.inputs[0])
    return None if rank is None else axis + rank


def perm_of(node: Node, region: Region) -> list[int] | None:
    """A Transpose's permutation, also where it is left to be "reversed"."""
    perm = node.attrs.get("perm")
    if perm is not None:
        return [int(p) for p in perm]
    rank = region.rank(node.inputs[0])
    return None if rank is None else list(range(rank - 1, -1, -1))


def unsqueeze_axes(node: Node, region: Region) -> list[int] | None:
    """The axes of an Unsqueeze in its result, sorted, counted from the front."""
    axes = region.ints(node, 1, "axes")
    if axes is None:
        return None
    if any(a < 0 for a in axes):
        rank = region.rank(node.inputs[0])
        if rank is None:
            return None
        axes = [a % (rank + len(axes)) for a in axes]
    return sorted(axes)


def squeeze_axes(node: Node, region: Region) -> list[int] | None:
    """The axes of a Squeeze in its input, sorted, counted from the front; of one without axes, those of size 1 if all sizes are known."""
    rank = region.rank(node.inputs[0])
    axes = region.ints(node, 1, "axes")
    if axes is None:
        shape = region.shape(node.inputs[0])
        if region.has(node, 1) or shape is None or not all(isinstance(d, int) for d in shape):
            return None
        return [i for i, d in enumerate(shape) if d == 1]
    if any(a < 0 for a in axes):
        if rank is None:
            return None
        axes = [a % rank for a in axes]
    return sorted(axes)


def reduce_axes(node: Node, region: Region) -> list[int] | None:
    """The axes of a reduction, sorted, counted from the front; all of them where none are given."""
    rank = region.rank(node.inputs[0])
    if rank is None:
        return None
    axes = region.ints(node, 1, "axes")
    if axes is None and region.has(node, 1):
        return None
    if not axes:
        return [] if node.attrs.get("noop_with_empty_axes", 0) else list(range(rank))
    return sorted(a % rank for a in axes)


def clip_bounds(node: Node, region: Region) -> tuple[float | None, float | None] | None:
    """The two bounds of a Clip, None for one that is absent; None for bounds that are no constants."""
    if region.opset < 11:
        return node.attrs.get("min"), node.attrs.get("max")
    bounds: list[float | None] = []
    for i in (1, 2):
        if not region.has(node, i):
            bounds.append(None)
            continue
        found = region.scalar(node.inputs[i])
        if found is None:
            return None
        bounds.append(found)
    return bounds[0], bounds[1]


def per_channel(array: Array, rank: int, channels: int, axis: int = 1) -> Array | None:
    """A constant that broadcasts over a value of `rank` along `axis` only, as one number per channel; None if it varies elsewhere.

    A constant with more axes than the value would change its shape, so that is None too.
    """
    if array.ndim > rank:
        return None
    shape = (1,) * (rank - array.ndim) + array.shape
    if any(d != 1 for i, d in enumerate(shape) if i != axis) or shape[axis] not in (1, channels):
        return None
    return np.broadcast_to(array.reshape(-1), (channels,)) if shape[axis] == 1 else array.reshape(-1)


def is_uniform(array: Array, value: Any) -> bool:
    """Whether every element is `value`."""
    return bool(array.size) and bool((array == value).all())
