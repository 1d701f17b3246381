"""Concatenation without copies: the parts are made where they will stand."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, same_place
from exec.lowering.registry import lowering
from exec.lowering.units import Unit

VIEWS = frozenset(("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Transpose", "Expand", "Slice", "Split"))
"""Ops whose output lies in the memory of their input, so it cannot be placed elsewhere for nothing."""


def place_concats(b: Builder) -> None:
    """Decide which values are made inside the result of a Concat; last Concat first, so nested ones lie in the outer."""
    units = b.units
    for unit in reversed(units.list):
        if unit.op != "Concat" or unit.domain:
            continue
        number = unit.outputs[0]
        spec = units.specs.get(number)
        if spec is None:
            continue
        axis = int(unit.attributes.get("axis", 1)) % len(spec.shape)
        if math.prod(spec.shape[:axis]) != 1:
            continue  # the parts would not be contiguous
        start = 0
        for part in unit.inputs:
            found = units.spec(part)
            if found is None:
                break
            size = found.shape[axis]
            maker = units.maker.get(part)
            movable = maker is not None and (maker.op not in VIEWS or maker.domain != "")
            if movable and part not in b.placements and found.size:
                b.placements[part] = partial(_part, b, number, axis, start, size)
            start += size


def _part(b: Builder, number: int, axis: int, start: int, size: int) -> Slot:
    whole = target(b, number)
    index: list[Any] = [slice(None)] * whole.ndim
    index[axis] = slice(start, start + size)
    return whole.view(whole.array[tuple(index)])


def target(b: Builder, number: int) -> Slot:
    """Where the result of a Concat will be, before it is made."""
    if number not in b.targets:
        placed = b.placements.get(number)
        spec = b.units.specs[number]
        b.targets[number] = placed() if placed is not None else Slot.new(spec.shape, spec.dtype)
    return b.targets[number]


@lowering("Concat")
def concat(b: Builder, unit: Unit) -> bool:
    number = unit.outputs[0]
    whole = b.define(number, target(b, number))
    axis = int(unit.attributes.get("axis", 1))
    start = 0
    for part in unit.inputs:
        source = b.input(part)
        size = source.shape[axis]
        index: list[Any] = [slice(None)] * whole.ndim
        index[axis] = slice(start, start + size)
        place = whole.view(whole.array[tuple(index)])
        start += size
        if source.size and not (source.buffer is whole.buffer and same_place(source, place)):
            b.copy(place, source)
    return True
