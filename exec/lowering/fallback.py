"""Units without a lowering: their kernel is called at every run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.interpreter import Interpreter
from exec.lowering.builder import Builder, Step
from exec.lowering.units import Unit
from exec.program import Operation


class ShapeChangedError(Exception):
    """A value the trace took for static has another shape in this run: the plan does not hold."""


class Slots:
    """Values of a run that have no place in the arena: data-dependent shapes, sequences, maps, text."""

    def __init__(self) -> None:
        self.values: dict[int, Value] = {}


def static_step(b: Builder, unit: Unit, interpreter: Interpreter) -> None:
    """Call the kernel and copy what it returns to where the plan wants it; of a merged unit, the kernels in turn."""
    operations, numbers = _placed(unit)
    targets = [(n, b.new(n)) for n in unit.outputs if n >= 0]
    sources = [b.input(n) for n in numbers]
    count = len(sources)
    known = {n: b.units.known[n] for n in numbers if n in b.units.known}  # as they are, not widened
    narrow = {n: b.units.narrow[n] for n in numbers if n in b.units.narrow}

    def bind(*arrays: Array) -> Step:
        wanted = list(zip([n for n, _ in targets], arrays[count:], strict=True))
        given = [known.get(n, a) for n, a in zip(numbers, arrays[:count], strict=True)]
        return partial(_run_static, interpreter, operations, numbers, given, narrow, wanted)

    variants = {interpreter.binding(operation).variant for operation in operations}
    variant = "reference" if "reference" in variants else min(variants)
    b.emit(bind, *sources, *[slot for _, slot in targets], variant=variant)


def _placed(unit: Unit) -> tuple[list[Operation], list[int]]:
    """The unit's operations, and the numbers they read that none of them makes."""
    made = {n for source in unit.sources for n in source.outputs}
    numbers = [n for source in unit.sources for n in source.reads if n not in made]
    return unit.sources, list(dict.fromkeys(numbers))


def _run_static(
    interpreter: Interpreter,
    operations: Sequence[Operation],
    numbers: Sequence[int],
    arrays: Sequence[Array],
    narrow: Mapping[int, np.dtype[Any]],
    wanted: Sequence[tuple[int, Array]],
) -> None:
    values: dict[int, Value] = dict(zip(numbers, arrays, strict=True))
    for number, kind in narrow.items():
        values[number] = values[number].astype(kind)
    for operation in operations:
        inputs = [None if n < 0 else values[n] for n in operation.inputs]
        results = interpreter.compute_alone(operation, inputs, values)
        values.update((n, result) for n, result in zip(operation.outputs, results, strict=False) if n >= 0)
    for number, target in wanted:
        result = values[number]
        if result.shape != target.shape:
            raise ShapeChangedError(f"{operations[-1].op} made a {result.shape} where {target.shape} was planned")
        np.copyto(target, result)


def dynamic_step(b: Builder, unit: Unit, interpreter: Interpreter, slots: Slots, arena: Callable[[], Array]) -> None:
    """Call the kernel on what the run has by then, and keep what it returns outside the arena."""
    operation = unit.sources[0]
    numbers = list(dict.fromkeys(unit.reads))
    known = {n: b.units.known[n] for n in numbers if n in b.units.known}
    static = [n for n in numbers if n not in known and n in b.slots]
    loose = [n for n in numbers if n not in known and n not in b.slots]
    # What is read here for the last time is dropped here.
    dead = [n for n in loose if b.last_use.get(n, -1) <= b.position]
    outputs = list(unit.outputs)
    narrow = {n: b.units.narrow[n] for n in static if n in b.units.narrow}

    def bind(*arrays: Array) -> Step:
        fixed = {**known, **dict(zip(static, arrays, strict=True))}
        return partial(_run_dynamic, interpreter, operation, fixed, narrow, loose, dead, outputs, slots, arena())

    b.emit(bind, *[b.slots[n] for n in static], variant=interpreter.binding(operation).variant)


def _run_dynamic(
    interpreter: Interpreter,
    operation: Operation,
    fixed: dict[int, Value],
    narrow: Mapping[int, np.dtype[Any]],
    loose: Sequence[int],
    dead: Sequence[int],
    outputs: Sequence[int],
    slots: Slots,
    arena: Array,
) -> None:
    values = {**fixed, **{n: slots.values[n] for n in loose}}
    for number, kind in narrow.items():
        values[number] = values[number].astype(kind)
    inputs = [None if n < 0 else values[n] for n in operation.inputs]
    results = interpreter.compute_alone(operation, inputs, values)
    for number, result in zip(outputs, results, strict=False):
        if number >= 0:
            slots.values[number] = outside(result, arena)
    for number in dead:
        slots.values.pop(number, None)


def outside(value: Value, arena: Array) -> Value:
    """`value`, copied where it is a view on memory that later steps write."""
    if isinstance(value, np.ndarray):
        return value.copy() if np.may_share_memory(value, arena) else value
    if isinstance(value, list):
        return [outside(v, arena) for v in value]
    return value
