"""The operations of a trace as units that fusion may merge before they are lowered."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.lowering.packs import Packs
from exec.program import MISSING, Operation
from exec.trace import Spec, Trace


@dataclass(slots=True, eq=False)
class Unit:
    """One operation, or several that run as one.

    sources  the traced operations it computes, in order
    extra    what fusion found, for the lowering: epilogue, scale, …
    """

    op: str
    domain: str
    opset: int
    attributes: dict[str, Any]
    inputs: list[int]
    outputs: list[int]
    sources: list[Operation]
    captures: tuple[int, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def reads(self) -> Iterator[int]:
        yield from (n for n in self.inputs if n >= 0)
        yield from self.captures

    def input(self, position: int) -> int:
        """The number of an input, MISSING if it is not given."""
        return self.inputs[position] if position < len(self.inputs) else MISSING

    def __repr__(self) -> str:
        return f"{self.op}{tuple(self.inputs)}->{tuple(self.outputs)}"


class Units:
    """The live units of a trace, with who makes and who reads each value.

    wanted   numbers somebody outside asks for: never merged away
    kept     those of them that have to last until the end: never overwritten
    carried  types that live in float32; narrow, the numbers that do, with what they are
    """

    def __init__(
        self, trace: Trace, wanted: Iterable[int], packs: Packs, carried: Sequence[np.dtype[Any]] = ()
    ) -> None:
        self.packs, self.carried = packs, tuple(carried)
        self.specs, self.known, self.dequantized = dict(trace.specs), dict(trace.known), trace.dequantized
        self.wanted = frozenset(n for n in wanted if n >= 0)
        self.kept = self.wanted
        self.list: list[Unit] = _live(trace, self.wanted)
        self.gone: set[Unit] = set()
        self.narrow: dict[int, np.dtype[Any]] = {}
        self._wide: dict[int, Array] = {}
        self.users: dict[int, dict[Unit, None]] = {}
        self.maker: dict[int, Unit] = {}
        self._numbers = len(trace.names)
        for unit in self.list:
            self._link(unit)

    def _link(self, unit: Unit) -> None:
        for number in unit.outputs:
            if number >= 0:
                self.maker[number] = unit
        for number in set(unit.reads):
            self.users.setdefault(number, {})[unit] = None

    def constant(self, number: int) -> Array | None:
        """The value of a number that is the same in every run, as an array; where values are carried wide, wide."""
        value = self.known.get(number)
        if not isinstance(value, np.ndarray):
            return None
        if self.carried and value.dtype in self.carried:
            return self._widened(number, value)
        return value

    def _widened(self, number: int, value: Array) -> Array:
        wide = self._wide.get(number)
        if wide is None:
            wide = self._wide[number] = self.packs.get(value, "wide", lambda: value.astype(np.float32))
        return wide

    def spec(self, number: int) -> Spec | None:
        """Shape and type of a value, constants included."""
        value = self.constant(number)
        return Spec(value.shape, value.dtype) if value is not None else self.specs.get(number)

    def add_constant(self, value: Value) -> int:
        """A new known value."""
        number = self._fresh()
        self.known[number] = value
        return number

    def _fresh(self) -> int:
        self._numbers += 1
        return self._numbers - 1

    def fresh(self, spec: Spec) -> int:
        """A new value number of the given shape and type."""
        number = self._fresh()
        self.specs[number] = spec
        return number

    def only_user(self, number: int) -> Unit | None:
        """The one unit that reads `number`, if nobody else does and nobody outside asks for it."""
        users = self.users.get(number, {})
        return next(iter(users)) if len(users) == 1 and number not in self.wanted else None

    def merge(self, first: Unit, second: Unit, **extra: Any) -> None:
        """`second`, the only reader of an output of `first`, becomes part of `first`, which takes over its outputs."""
        self.remove(second)
        for number in first.outputs:
            self.maker.pop(number, None)
        first.outputs = list(second.outputs)
        first.sources += second.sources
        first.extra.update(extra)
        for number in second.outputs:
            if number >= 0:
                self.maker[number] = first

    def reads_also(self, unit: Unit, number: int) -> int:
        """Append `number` to the inputs of `unit`; its position."""
        unit.inputs.append(number)
        self.users.setdefault(number, {})[unit] = None
        return len(unit.inputs) - 1

    def remove(self, unit: Unit) -> None:
        """Take `unit` out of the order and out of the readers of its inputs."""
        for number in set(unit.reads):
            self.users.get(number, {}).pop(unit, None)
        self.gone.add(unit)

    def settle(self) -> None:
        """Drop removed units and put the rest in an order in which every value is made before it is read."""
        self.list = _ordered([u for u in self.list if u not in self.gone], self.maker)


def _live(trace: Trace, wanted: frozenset[int]) -> list[Unit]:
    """Units for the operations somebody needs, last to first, then turned around."""
    needed, units = set(wanted), []
    for operation in reversed(trace.operations):
        if not any(n in needed for n in operation.outputs if n >= 0):
            continue
        captures = tuple(n for caught in operation.captures.values() for n in caught)
        needed.update(n for n in (*operation.inputs, *captures) if n >= 0)
        units.append(
            Unit(
                operation.op,
                operation.domain,
                operation.opset,
                operation.attributes,
                list(operation.inputs),
                [n if n in needed or n in wanted else MISSING for n in operation.outputs],
                [operation],
                captures,
            )
        )
    units.reverse()
    return units


def is_row(shape: tuple[int, ...], columns: int) -> bool:
    """Whether a value of that shape adds one number to each of `columns` columns, alike in all rows."""
    return shape[-1:] == (columns,) and math.prod(shape) == columns


def _ordered(units: list[Unit], maker: dict[int, Unit]) -> list[Unit]:
    """Stable topological order: a merged unit may read values made after its first part stood."""
    placed: set[Unit] = set()
    result: list[Unit] = []
    for unit in units:
        stack = [unit]
        while stack:
            top = stack[-1]
            if top in placed:
                stack.pop()
                continue
            before = [maker[n] for n in top.reads if n in maker and maker[n] not in placed and maker[n] is not top]
            if before:
                stack.extend(before)
            else:
                placed.add(top)
                result.append(top)
                stack.pop()
    return result
