"""Ops that only look at memory in another way: no step at all where a view can do it."""

from __future__ import annotations

from typing import Any

import numpy as np

from exec.lowering.builder import Builder
from exec.lowering.registry import lowering
from exec.lowering.units import Unit


@lowering("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def reshape(b: Builder, unit: Unit) -> bool:
    number = unit.outputs[0]
    source = b.input(unit.inputs[0])
    slot = b.shaped(source, b.units.specs[number].shape)
    if slot.constant is not None:
        return False
    b.define(number, slot)
    return True


@lowering("Identity")
def identity(b: Builder, unit: Unit) -> bool:
    return _same(b, unit)


@lowering("Dropout")
def dropout(b: Builder, unit: Unit) -> bool:
    """Inference only: in training mode, or where a mask is wanted, the kernel runs."""
    if len([n for n in unit.outputs if n >= 0]) > 1:
        return False
    if unit.opset >= 12 and len(unit.inputs) > 2 and unit.inputs[2] >= 0:
        training = b.units.constant(unit.inputs[2])
        if training is None or bool(training):
            return False
    return _same(b, unit)


def _same(b: Builder, unit: Unit) -> bool:
    source = b.input(unit.inputs[0])
    if source.constant is not None:
        return False
    b.alias(unit.outputs[0], source, source.array)
    return True


@lowering("Transpose")
def transpose(b: Builder, unit: Unit) -> bool:
    source = b.input(unit.inputs[0])
    perm = unit.attributes.get("perm")
    b.alias(unit.outputs[0], source, source.array.transpose(perm))
    return source.constant is None


@lowering("Expand")
def expand(b: Builder, unit: Unit) -> bool:
    source = b.input(unit.inputs[0])
    if source.constant is not None:
        return False
    shape = b.units.specs[unit.outputs[0]].shape
    b.alias(unit.outputs[0], source, np.broadcast_to(source.array, shape))
    return True


@lowering("Slice")
def slice_(b: Builder, unit: Unit) -> bool:
    source = b.input(unit.inputs[0])
    if source.constant is not None:
        return False
    if unit.opset < 10:
        starts, ends = unit.attributes["starts"], unit.attributes["ends"]
        axes, steps = unit.attributes.get("axes"), None
    else:
        given = [None if unit.input(k) < 0 else b.units.constant(unit.input(k)) for k in range(1, 5)]
        if given[0] is None or given[1] is None:
            return False
        starts, ends = given[0].tolist(), given[1].tolist()
        axes, steps = (None if v is None else v.tolist() for v in given[2:])
    index: list[Any] = [slice(None)] * source.ndim
    for k, axis in enumerate(axes if axes is not None else range(len(starts))):
        index[axis] = _slice(starts[k], ends[k], 1 if steps is None else steps[k], source.shape[axis])
    array = source.array[tuple(index)]
    if array.shape != b.units.specs[unit.outputs[0]].shape:
        return False
    b.alias(unit.outputs[0], source, array)
    return True


def _slice(start: int, end: int, step: int, size: int) -> slice:
    """The specification's clamping: a negative step may run past the front."""
    if step > 0:
        return slice(start, end, step)
    start = start + size if start < 0 else start
    end = end + size if end < 0 else end
    return slice(min(start, size - 1), None if end < 0 else end, step) if start >= 0 else slice(0, 0)


@lowering("Split")
def split(b: Builder, unit: Unit) -> bool:
    source = b.input(unit.inputs[0])
    if source.constant is not None:
        return False
    axis = int(unit.attributes.get("axis", 0))
    start = 0
    operation = unit.sources[0]
    sizes = _split_sizes(b, unit, source.shape[axis], len(operation.outputs))
    if sizes is None:
        return False
    for number, size in zip(unit.outputs, sizes, strict=True):
        if number >= 0:
            index: list[Any] = [slice(None)] * source.ndim
            index[axis] = slice(start, start + size)
            b.alias(number, source, source.array[tuple(index)])
        start += size
    return True


def _split_sizes(b: Builder, unit: Unit, total: int, parts: int) -> list[int] | None:
    given = unit.attributes.get("split")
    if given is not None:
        return list(given)
    if len(unit.inputs) > 1 and unit.inputs[1] >= 0:
        sizes = b.units.constant(unit.inputs[1])
        return None if sizes is None else sizes.tolist()
    each = -(-total // parts)
    return [max(0, min(each, total - k * each)) for k in range(parts)]
