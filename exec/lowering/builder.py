"""What a lowering works with: slots for values, scratch, prepacked weights, and steps.

A lowering asks for the inputs and the output of its unit, and emits steps. A step is a function that, given the real arrays, returns
the call (or calls) of a run; it is called once, when the arena exists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.lowering.buffers import Buffer, Slot, place, reshaped
from exec.lowering.packs import Packs
from exec.lowering.units import Unit, Units
from exec.lowering.zeros import unsigned_zeros

Step = Callable[[], Any]
Bind = Callable[..., "Step | Sequence[Step]"]

FOREVER = 1 << 60


@dataclass(slots=True)
class Emitted:
    """A step before binding: `bind(*arrays)` makes the call."""

    bind: Bind
    slots: tuple[Slot, ...]
    unit: Unit
    variant: str


class Builder:
    """Lowers units one after another.

    units    what is left after fusion, in order
    packs    prepacked weights
    jit      whether compiled kernels may be used
    threads  of BLAS at run time
    """

    def __init__(self, units: Units, packs: Packs, *, jit: bool = False, threads: int = 1) -> None:
        self.units, self.packs, self.jit, self.threads = units, packs, jit, threads
        self.slots: dict[int, Slot] = {}
        self.emitted: list[Emitted] = []
        self.placements: dict[int, Callable[[], Slot]] = {}
        self.targets: dict[int, Slot] = {}
        self.position = -1
        self.unit: Unit | None = None
        self.last_use = _last_uses(units)
        self.unsigned_zeros = unsigned_zeros(units) if units.narrow else frozenset()

    # values

    def input(self, number: int, dtype: Any = None) -> Slot:
        """The slot of a number; a constant's is its array."""
        slot = self.slots.get(number)
        if slot is None:
            constant = self.units.constant(number)
            assert constant is not None, f"value {number} is not made yet"
            slot = self.slots[number] = Slot(constant)
        return slot

    def define(self, number: int, slot: Slot) -> Slot:
        """`slot` is where the value `number` lives."""
        self.slots[number] = slot
        if slot.buffer is not None and number >= 0:
            slot.buffer.numbers.append(number)
        return slot

    def new(self, number: int) -> Slot:
        """Room for the output `number`: its place in a later Concat, or a buffer of its own."""
        placed = self.placements.get(number)
        if placed is not None:
            return self.define(number, placed())
        spec = self.units.specs[number]
        return self.define(number, Slot.new(spec.shape, spec.dtype))

    def new_or_reused(self, number: int, *inputs: Slot) -> Slot:
        """Room for an elementwise output: over the first input that nobody needs any more, if there is one.

        Not where another input reads the same memory in another order.
        """
        if number not in self.placements:
            spec = self.units.specs[number]
            for slot in inputs:
                if (
                    slot.shape != spec.shape
                    or slot.dtype != spec.dtype
                    or not slot.contiguous
                    or not self.is_last(slot)
                ):
                    continue
                if all(other.buffer is not slot.buffer or same_place(other, slot) for other in inputs):
                    return self.define(number, slot.view(slot.array))
        return self.new(number)

    def is_last(self, slot: Slot) -> bool:
        """Whether nobody reads what lies in the slot's buffer after the current unit."""
        buffer = slot.buffer
        return buffer is not None and all(self.last_use.get(n, -1) <= self.position for n in buffer.numbers)

    def alias(self, number: int, source: Slot, array: Array) -> Slot:
        """The output `number` is a view of `source`: no step."""
        return self.define(number, source.view(array))

    def scratch(self, shape: Sequence[int], dtype: Any = np.float32) -> Slot:
        """Memory for the steps it is given to, and nothing after."""
        return Slot.new(shape, dtype)

    def constant(self, array: Array) -> Slot:
        """A slot for an array made while lowering."""
        return Slot(array)

    # steps

    def emit(self, bind: Bind, *slots: Slot, variant: str = "numpy") -> None:
        """Add a step for the current unit; `bind` gets the real arrays of `slots`."""
        assert self.unit is not None
        step = len(self.emitted) + 1  # step 0 copies the inputs in
        for slot in slots:
            if slot.buffer is not None:
                slot.buffer.touch(step)
        self.emitted.append(Emitted(bind, slots, self.unit, variant))

    def begin(self, position: int, unit: Unit) -> None:
        """The steps emitted from now on belong to `unit`."""
        self.position, self.unit = position, unit

    def copied(self, slot: Slot) -> Slot:
        """`slot` as contiguous memory: itself, or a copy made by a step."""
        if slot.contiguous:
            return slot
        if slot.constant is not None:
            return Slot(self.packs.get(slot.constant, "contiguous", lambda: np.ascontiguousarray(slot.constant)))
        copy = self.scratch(slot.shape, slot.dtype)
        self.copy(copy, slot)
        return copy

    def copy(self, target: Slot, source: Slot) -> None:
        """Emit a copy between any two layouts of one shape."""
        if self.jit:
            from exec.lowering.jit.copying import copy

            if copy(self, target, source):
                return
        self.emit(copy_step, target, source)

    def shaped(self, slot: Slot, shape: Sequence[int]) -> Slot:
        """`slot` in another shape, copied only where a view cannot do it."""
        array = reshaped(slot.array, shape)
        if array is not None:
            return slot.view(array)
        copy = self.copied(slot)
        array = reshaped(copy.array, shape)
        assert array is not None
        return copy.view(array)

    # the end

    def buffers(self) -> list[Buffer]:
        """Every buffer a step or a value uses."""
        found = {id(s.buffer): s.buffer for e in self.emitted for s in e.slots if s.buffer is not None}
        found.update({id(s.buffer): s.buffer for s in self.slots.values() if s.buffer is not None})
        return list(found.values())

    def place(self) -> int:
        """Lay out the arena; returns its size in bytes."""
        end = len(self.emitted) + 1
        for number in self.units.kept:
            slot = self.slots.get(number)
            if slot is not None and slot.buffer is not None:
                slot.buffer.touch(end)
        return place([b for b in self.buffers() if b.birth >= 0])


def same_place(one: Slot, other: Slot) -> bool:
    """Whether two slots of one buffer are the same elements in the same order."""
    a, b = one.array, other.array
    start = a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
    return start and a.shape == b.shape and a.strides == b.strides


def copy_step(target: Array, source: Array) -> Step:
    return partial(np.copyto, target, source)


def _last_uses(units: Units) -> dict[int, int]:
    last: dict[int, int] = {}
    for position, unit in enumerate(units.list):
        for number in unit.outputs:
            last.setdefault(number, position)
        for number in unit.reads:
            last[number] = position
    for number in units.kept:
        last[number] = FOREVER
    return last
