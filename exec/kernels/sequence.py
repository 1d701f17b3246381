"""Kernels of ONNX family sequence. A sequence is a list; every op makes a new one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.errors import ExecutionError
from exec.kernels.registry import Context, kernel


@kernel("SequenceEmpty", since=11)
def sequence_empty(*, dtype: int | None = None) -> list[Array]:
    """A sequence of no tensors."""
    return []


@kernel("SequenceConstruct", since=11)
def sequence_construct(*xs: Array) -> list[Array]:
    """The inputs as a sequence."""
    return list(xs)


@kernel("SequenceLength", since=11)
def sequence_length(sequence: list[Array], /) -> Array:
    """How many tensors it holds."""
    return np.array(len(sequence), np.int64)


@kernel("SequenceAt", since=11)
def sequence_at(sequence: list[Array], position: Array, /) -> Array:
    """The tensor at a position, counted from the back if negative."""
    return sequence[_place(position, sequence, len(sequence) - 1)]


@kernel("SequenceInsert", since=11)
def sequence_insert(sequence: list[Array], tensor: Array, position: Array | None = None, /) -> list[Array]:
    """The sequence with a tensor before the position, by default at the end."""
    count = len(sequence)
    place = count if position is None else _place(position, sequence, count)
    return [*sequence[:place], tensor, *sequence[place:]]


@kernel("SequenceErase", since=11)
def sequence_erase(sequence: list[Array], position: Array | None = None, /) -> list[Array]:
    """The sequence without the tensor at the position, by default the last."""
    place = _place(np.array(-1) if position is None else position, sequence, len(sequence) - 1)
    return [*sequence[:place], *sequence[place + 1 :]]


def _place(position: Array, sequence: list[Array], highest: int) -> int:
    given = int(position.reshape(()))
    place = given + len(sequence) if given < 0 else given
    if not 0 <= place <= highest:
        raise ExecutionError(f"position {given} is outside a sequence of {len(sequence)}")
    return place


@kernel("SplitToSequence", since=11)
def split_to_sequence(x: Array, split: Array | None = None, /, *, axis: int = 0, keepdims: int = 1) -> list[Array]:
    """x cut along `axis`: into parts of the lengths given, into parts of one length, or into single indices.

    Only in the last case keepdims=0 drops the axis.
    """
    axis %= x.ndim
    dim = x.shape[axis]
    if split is not None and split.ndim:
        edges = np.cumsum(split).tolist()
        if edges and edges[-1] != dim:
            raise ExecutionError(f"the parts of a split add up to {edges[-1]}, the axis has {dim}")
    else:
        length = 1 if split is None else int(split)
        edges = [*range(length, dim, length), dim] if dim else []
    starts = [0, *edges[:-1]]
    before = (slice(None),) * axis
    if split is None and not keepdims:
        return list(np.moveaxis(x, axis, 0)) if x.ndim > 1 else [np.asarray(entry) for entry in x]
    return [x[(*before, slice(start, end))] for start, end in zip(starts, edges, strict=False)]


@kernel("ConcatFromSequence", since=11)
def concat_from_sequence(sequence: list[Array], /, *, axis: int, new_axis: int = 0) -> Array:
    """The tensors one after the other along `axis`, a new one with new_axis=1."""
    return np.stack(sequence, axis) if new_axis else np.concatenate(sequence, axis)


@kernel("SequenceMap", since=17)
def sequence_map(first: list[Array], /, *others: Value, body: Any, context: Context) -> tuple[list[Array], ...]:
    """`body` run on the k-th tensors of all sequences, plain tensors given to each call; one sequence per output."""
    uneven: Sequence[int] = [len(x) for x in others if isinstance(x, list) and len(x) != len(first)]
    if uneven:
        raise ExecutionError(f"sequences of {len(first)} and {uneven[0]} tensors cannot be mapped together")
    rows: list[list[Value]] = []
    before = context.work
    for k, x in enumerate(first):
        rows.append(context.run(body, [x, *(other[k] if isinstance(other, list) else other for other in others)]))
        if k == 0:
            context.foresee(len(first) - 1, context.work - before)
    return tuple([row[k] for row in rows] for k in range(len(body.declared)))
