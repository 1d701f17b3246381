"""Units without a lowering: their kernel is called at every run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.interpreter import Interpreter
from exec.lowering.builder import Builder, Step
from exec.lowering.units import Unit
from exec.program import MISSING, Operation


class ShapeChangedError(Exception):
    """A value the trace took for static has another shape in this run: the plan does not hold."""


class Slots:
    """Values of a run that have no place in the arena: data-dependent shapes, sequences, maps, text."""

    def __init__(self) -> None:
        self.values: dict[int, Value] = {}


def static_step(b: Builder, unit: Unit, interpreter: Interpreter) -> None:
    """Call the kernel and copy what it returns to where the plan wants it."""
    operation, numbers = _placed(unit)
    targets = [(k, b.new(n)) for k, n in enumerate(unit.outputs) if n >= 0]
    sources = [b.input(n) for n in numbers]
    count = len(sources)

    def bind(*arrays: Array) -> Step:
        return partial(
            _run_static,
            interpreter,
            operation,
            arrays[:count],
            [k for k, _ in targets],
            arrays[count : count + len(targets)],
        )

    b.emit(bind, *sources, *[slot for _, slot in targets], variant=interpreter.binding(operation).variant)


def _placed(unit: Unit) -> tuple[Operation, list[int]]:
    """The unit's operation with inputs and captures numbered by position, and the numbers that stand there."""
    source = unit.sources[0]
    numbers = list(dict.fromkeys(unit.reads))
    place = {n: k for k, n in enumerate(numbers)}
    operation = Operation(
        source.op,
        source.domain,
        source.opset,
        source.attributes,
        tuple(MISSING if n < 0 else place[n] for n in unit.inputs),
        source.outputs,
        source.node,
        {name: tuple(place[n] for n in caught) for name, caught in source.captures.items()},
        source.opsets,
    )
    return operation, numbers


def _run_static(
    interpreter: Interpreter,
    operation: Operation,
    values: Sequence[Value],
    positions: Sequence[int],
    targets: Sequence[Array],
) -> None:
    inputs = [None if n < 0 else values[n] for n in operation.inputs]
    results = interpreter.compute(operation, inputs, values)
    for position, target in zip(positions, targets, strict=True):
        result = results[position]
        if result.shape != target.shape:
            raise ShapeChangedError(f"{operation.op} made a {result.shape} where {target.shape} was planned")
        np.copyto(target, result)


def dynamic_step(b: Builder, unit: Unit, interpreter: Interpreter, slots: Slots, arena: Callable[[], Array]) -> None:
    """Call the kernel on what the run has by then, and keep what it returns outside the arena."""
    operation, numbers = _placed(unit)
    known = {k: b.units.known[n] for k, n in enumerate(numbers) if n in b.units.known}
    static = [(k, b.input(n)) for k, n in enumerate(numbers) if k not in known and n in b.slots]
    loose = [(k, n) for k, n in enumerate(numbers) if k not in known and n not in b.slots]
    # What is read here for the last time is dropped here.
    dead = [n for _, n in loose if b.last_use.get(n, -1) <= b.position]
    outputs = list(unit.outputs)

    def bind(*arrays: Array) -> Step:
        return partial(
            _run_dynamic, interpreter, operation, len(numbers), known, [k for k, _ in static], arrays, loose, dead, outputs,
            slots, arena(),
        )  # fmt: skip

    b.emit(bind, *[slot for _, slot in static], variant=interpreter.binding(operation).variant)


def _run_dynamic(
    interpreter: Interpreter,
    operation: Operation,
    count: int,
    known: dict[int, Value],
    positions: Sequence[int],
    arrays: Sequence[Array],
    loose: Sequence[tuple[int, int]],
    dead: Sequence[int],
    outputs: Sequence[int],
    slots: Slots,
    arena: Array,
) -> None:
    values: list[Any] = [None] * count
    for place, value in known.items():
        values[place] = value
    for place, array in zip(positions, arrays, strict=True):
        values[place] = array
    for place, number in loose:
        values[place] = slots.values[number]
    inputs = [None if n < 0 else values[n] for n in operation.inputs]
    results = interpreter.compute(operation, inputs, values)
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
