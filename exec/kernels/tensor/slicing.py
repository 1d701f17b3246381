"""Cut and join: Slice, Split, Concat."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.registry import kernel


@kernel("Slice")
def slice_1(x: Array, /, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None = None) -> Array:
    """Slice with attributes and without steps, before opset 10."""
    return _sliced(x, starts, ends, range(len(starts)) if axes is None else axes, [1] * len(starts))


@kernel("Slice", since=10)
def slice_10(x: Array, starts: Array, ends: Array, axes: Array | None = None, steps: Array | None = None, /) -> Array:
    """x[start:end:step] along each axis: Python's slices, bounds beyond the dim included."""
    first = starts.reshape(-1).tolist()
    along = range(len(first)) if axes is None else axes.reshape(-1).tolist()
    by = [1] * len(first) if steps is None else steps.reshape(-1).tolist()
    return _sliced(x, first, ends.reshape(-1).tolist(), along, by)


def _sliced(x: Array, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int]) -> Array:
    cut = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        # in Python an end below -dim means "past the first" only with a negative step: as the specification clamps
        cut[axis] = slice(start, end, step)
    return x[tuple(cut)]


@kernel("Split")
def split_1(
    x: Array, lengths: Array | None = None, /, *, axis: int = 0, split: Sequence[int] | None = None, n_outputs: int
) -> tuple[Array, ...]:
    """Split in version 1: the lengths come as an input or as an attribute."""
    return split_2(x, axis=axis, split=split if lengths is None else lengths.tolist(), n_outputs=n_outputs)


@kernel("Split", since=2)
def split_2(x: Array, /, *, axis: int = 0, split: Sequence[int] | None = None, n_outputs: int) -> tuple[Array, ...]:
    """Split with the lengths as an attribute, before opset 13."""
    return _parts(x, axis, _equal(x.shape[axis], n_outputs) if split is None else split)


@kernel("Split", since=13)
def split_13(
    x: Array, split: Array | None = None, /, *, axis: int = 0, num_outputs: int | None = None, n_outputs: int
) -> tuple[Array, ...]:
    """x cut along `axis` into parts of the lengths given, else into equal ones, the last smaller where it must be."""
    if split is None and num_outputs not in (None, n_outputs):
        raise ExecutionError(f"a split into {num_outputs} parts has {n_outputs} outputs")
    return _parts(x, axis, _equal(x.shape[axis], n_outputs) if split is None else split.tolist())


def _equal(dim: int, count: int) -> list[int]:
    part = -(-dim // count)
    return [max(0, min(part, dim - k * part)) for k in range(count)]


def _parts(x: Array, axis: int, lengths: Sequence[int]) -> tuple[Array, ...]:
    if sum(lengths) != x.shape[axis]:
        raise ExecutionError(
            f"the parts of a split add up to {sum(lengths)}, the axis has {x.shape[axis]}",
            why=f"it got the lengths {list(lengths)} for axis {axis}",
        )
    before = (slice(None),) * (axis % x.ndim)
    parts, start = [], 0
    for length in lengths:
        parts.append(x[(*before, slice(start, start + length))])
        start += length
    return tuple(parts)


@kernel("Concat")
def concat_1(*xs: Array, axis: int = 1) -> Array:
    """Concat in version 1, where the axis has a default."""
    return concat(*xs, axis=axis)


@kernel("Concat", since=4)
def concat(*xs: Array, axis: int) -> Array:
    """The inputs one after the other along `axis`."""
    return np.concatenate(xs, axis)
