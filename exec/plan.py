"""A plan: the flat list of calls that one run of a signature is.

Built from a trace: units are fused, lowered to steps, laid out in one arena and bound to it. A run copies the inputs in, makes the
calls, and copies the outputs out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import length_hint
from typing import Any, NoReturn

import numpy as np

from exec.arrays import Array, Value
from exec.binding import FAILURES, fail
from exec.interpreter import Interpreter
from exec.kernels.growth import ask
from exec.lowering.buffers import ALIGNMENT, Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.fallback import Slots, dynamic_step, static_step
from exec.lowering.fusion import fuse_units
from exec.lowering.narrow import CARRIED, carry_wide, round_outputs
from exec.lowering.ops.concat import place_concats
from exec.lowering.packs import Packs
from exec.lowering.registry import lowering_of
from exec.lowering.units import Unit, Units
from exec.progress import Cancel, check
from exec.trace import Trace

Observer = Callable[[int, Value], None]
"""(value number, value): called when the value has just been made; the array is only valid during the call."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a plan is built with.

    fuse     let units merge
    jit      use compiled kernels where they are faster
    threads  of BLAS at run time
    """

    fuse: bool = True
    jit: bool = False
    threads: int = 1


class Plan:
    """Calls on an arena.

    steps     what a run does, in order
    units     per step, the unit it belongs to
    variants  per step, "numpy", "compiled" or "reference"
    uses_blas whether a step may call BLAS, so that its threads matter
    """

    def __init__(
        self,
        trace: Trace,
        inputs: Mapping[int, Value],
        outputs: Sequence[int],
        interpreter: Interpreter,
        packs: Packs,
        options: Options,
        watched: Collection[int] = (),
        fleeting: bool = False,
    ) -> None:
        self.outputs = list(outputs)
        self.watched = frozenset(watched)
        self.interpreter = interpreter
        self.slots = Slots()
        self.observer: Observer | None = None
        units = Units(trace, [*outputs, *watched], packs, CARRIED)
        if fleeting:
            units.kept = frozenset(outputs)
        carry_wide(units)
        self.narrow = units.narrow
        if options.fuse:
            fuse_units(units, packs, options.jit)
        units.settle()
        self.known = units.known
        builder = Builder(units, packs, jit=options.jit, threads=options.threads)
        given = {n: self._input(builder, n, value) for n, value in inputs.items()}
        place_concats(builder)
        for position, unit in enumerate(units.list):
            builder.begin(position, unit)
            self._lower(builder, unit)
            for number in unit.outputs:
                if number in self.watched:
                    self._watch(builder, number)
        self.arena_bytes = builder.place()
        interpreter.budget.require(self.arena_bytes, "the values of a run")
        self.arena = aligned_empty(self.arena_bytes)
        self.inputs = {n: None if slot is None else slot.bound(self.arena) for n, slot in given.items()}
        self.results = {n: builder.slots[n].bound(self.arena) for n in self.outputs if n in builder.slots}
        self.weight_bytes = _weight_bytes(builder)
        self.steps: list[Step] = []
        self.units: list[Unit] = []
        self.variants: list[str] = []
        self.live_bytes: list[int] = []
        alive = _alive_bytes(builder)
        self.uses_blas = False
        # A compiled kernel knows addresses only: whatever its step was bound from has to live as long as the plan.
        self._held: list[Any] = [emitted.bind for emitted in builder.emitted]
        for position, emitted in enumerate(builder.emitted):
            arrays = [slot.bound(self.arena) for slot in emitted.slots]
            self._held += [array for array, slot in zip(arrays, emitted.slots, strict=True) if slot.buffer is None]
            bound = emitted.bind(*arrays)
            for step in (bound,) if callable(bound) else bound:
                self.uses_blas = self.uses_blas or not _needs_no_blas(step)
                self.steps.append(step)
                self.units.append(emitted.unit)
                self.variants.append(emitted.variant)
                self.live_bytes.append(alive[position + 1])

    def _input(self, builder: Builder, number: int, value: Value) -> Slot | None:
        spec = builder.units.specs.get(number)
        if spec is None:
            self.slots.values[number] = value
            return None
        slot = builder.define(number, Slot.new(spec.shape, spec.dtype))
        assert slot.buffer is not None
        slot.buffer.touch(0)
        return slot

    def _lower(self, builder: Builder, unit: Unit) -> None:
        units = builder.units
        if any(n not in units.specs for n in unit.outputs if n >= 0):
            dynamic_step(builder, unit, self.interpreter, self.slots, lambda: self.arena)
            return
        if any(n not in units.specs and units.constant(n) is None for n in unit.reads):
            dynamic_step(builder, unit, self.interpreter, self.slots, lambda: self.arena)
            return
        lower = lowering_of(unit)
        if lower is not None and lower(builder, unit):
            round_outputs(builder, unit)
        else:
            static_step(builder, unit, self.interpreter)

    def _watch(self, builder: Builder, number: int) -> None:
        slot = builder.slots.get(number)
        if slot is None:
            builder.emit(lambda: lambda: self._tell(number, self.slots.values[number]), variant="")
        else:
            narrow = self.narrow.get(number)
            if narrow is not None:
                builder.emit(lambda array: lambda: self._tell(number, array.astype(narrow)), slot, variant="")
            else:
                builder.emit(lambda array: lambda: self._tell(number, array), slot, variant="")

    def _tell(self, number: int, value: Value) -> None:
        if self.observer is not None:
            self.observer(number, value)

    def run(self, feeds: Mapping[int, Value], cancel: Cancel | None = None) -> list[Value]:
        """One run; the outputs are the caller's own."""
        self.feed(feeds)
        steps = iter(self.steps)
        try:
            if cancel is None:
                for step in steps:
                    step()
            else:
                for step in steps:
                    check(cancel, "the run")
                    step()
        except FAILURES as error:
            self.fail(error, len(self.steps) - length_hint(steps) - 1)
        return self.collect()

    def fail(self, error: Exception, position: int) -> NoReturn:
        """Raise what went wrong in a step, as an error that names the node."""
        fail(error, self.units[position].sources[-1])

    def feed(self, feeds: Mapping[int, Value]) -> None:
        """Copy the inputs in."""
        self.interpreter.randomness.restart()
        for number, target in self.inputs.items():
            if target is None:
                self.slots.values[number] = feeds[number]
            else:
                np.copyto(target, feeds[number])

    def collect(self) -> list[Value]:
        """Copies of the outputs."""
        return [self._result(n) for n in self.outputs]

    def _result(self, number: int) -> Value:
        if number < 0:
            return None
        if number in self.results:
            narrow = self.narrow.get(number)
            return owned(self.results[number]) if narrow is None else self.results[number].astype(narrow)
        if number in self.known:
            value = self.known[number]
            return owned(value)
        return self.slots.values[number]


def aligned_empty(nbytes: int) -> Array:
    """Uninitialised bytes that start at a cache line."""
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -raw.__array_interface__["data"][0] % ALIGNMENT
    return raw[start : start + nbytes]


def _needs_no_blas(step: Step) -> bool:
    """Whether a step surely calls no matrix product of numpy's."""
    function = getattr(step, "func", None)
    if isinstance(function, np.ufunc):
        return function not in (np.matmul, np.vecdot)
    if type(function).__name__ == "CPUDispatcher":
        return True
    return getattr(function, "__name__", "") in ("copyto", "fill", "reduce", "take")


def _weight_bytes(builder: Builder) -> int:
    """Bytes of the constants the steps read, each counted once."""
    arrays = {id(s.array): s.array for e in builder.emitted for s in e.slots if s.buffer is None}
    return sum(array.nbytes for array in arrays.values())


def _alive_bytes(builder: Builder) -> list[int]:
    """Per step (0 is the copying in), the bytes of the buffers alive at it."""
    change = [0] * (len(builder.emitted) + 3)
    for buffer in builder.buffers():
        if buffer.birth >= 0:
            change[buffer.birth] += buffer.nbytes
            change[buffer.death + 1] -= buffer.nbytes
    alive, total = [], 0
    for step in change:
        total += step
        alive.append(total)
    return alive


_SMALL = 1 << 26  # bytes nobody is asked about


def owned(value: Value) -> Value:
    """A value the caller may keep and write to; of a view, all that it shows."""
    if not isinstance(value, np.ndarray):
        return value
    if value.base is not None and 0 in value.strides and value.nbytes > _SMALL:
        ask(value.nbytes)
    return value.copy()
