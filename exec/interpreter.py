"""Running a program one operation after another: right for every graph, planned for none.

Values live in a list by number and are dropped after their last reader. Plans are built on top of this; subgraphs with
data-dependent shapes and loops stay here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from exec.arrays import Value
from exec.binding import FAILURES, Binding, bind, fail
from exec.budget import Budget
from exec.context import Randomness, RunContext
from exec.effort import work_of
from exec.footprint import Footprint
from exec.kernels.growth import foreseen
from exec.program import MISSING, Operation, Program
from exec.progress import Cancel, check

Watcher = Callable[[Operation, Sequence[Value], Sequence[Value]], None]
"""(operation, inputs, outputs), called after each operation of the outermost program."""


class Interpreter:
    """Binds operations once and runs programs with them.

    kernels   "numpy" or "plain": which variant is preferred
    """

    def __init__(self, kernels: str = "numpy", seed: int = 0) -> None:
        self.kernels = kernels
        self.randomness = Randomness(seed)
        self.budget = Budget()
        self.footprint = Footprint()
        self._bound: dict[int, Binding] = {}
        self._deaths: dict[int, list[tuple[int, ...]]] = {}

    def binding(self, operation: Operation) -> Binding:
        """The implementation of `operation`, looked up once."""
        found = self._bound.get(id(operation))
        if found is None:
            found = self._bound[id(operation)] = bind(operation, self.kernels)
        return found

    def deaths(self, program: Program) -> list[tuple[int, ...]]:
        """Per operation, the numbers nobody reads after it."""
        found = self._deaths.get(id(program))
        if found is None:
            last = dict.fromkeys((n for o in program.operations for n in o.outputs if n >= 0), -1)
            for k, operation in enumerate(program.operations):
                for number in (*operation.outputs, *operation.reads):
                    if number in last:
                        last[number] = k
            kept = set(program.outputs)
            lists: list[list[int]] = [[] for _ in program.operations]
            for number, k in last.items():
                if number not in kept:
                    lists[k].append(number)
            found = self._deaths[id(program)] = [tuple(numbers) for numbers in lists]
        return found

    def evaluate(self, program: Program, inputs: Sequence[Value], captured: Sequence[Value] = ()) -> list[Value]:
        """The outputs of `program`."""
        values: list[Value] = [None] * len(program.names)
        for number, value in zip(program.inputs, inputs, strict=True):
            values[number] = value
        for (_, number), value in zip(program.captured, captured, strict=True):
            values[number] = value
        self.budget.step("running a subgraph")
        with self.budget.nested("running a subgraph"):
            self.run(program, values)
        results = [None if n == MISSING else values[n] for n in program.outputs]
        made = {n for o in program.operations for n in o.outputs}
        for number in made.intersection(program.outputs):
            self.footprint.gone(values[number])  # whoever called counts what it makes of them
        return results

    def run(
        self,
        program: Program,
        values: list[Value],
        *,
        keep: Collection[int] = (),
        watch: Watcher | None = None,
        cancel: Cancel | None = None,
    ) -> None:
        """Fill `values`; only inputs, constants, outputs and the numbers in `keep` are still there afterwards."""
        for number in program.constants:
            values[number] = program.constant(number)
        for operation, dead in zip(program.operations, self.deaths(program), strict=True):
            if cancel is not None:
                check(cancel, "the run")
            inputs = [None if n == MISSING else values[n] for n in operation.inputs]
            outputs = self.compute(operation, inputs, values)
            for number, value in zip(operation.outputs, outputs, strict=False):
                if number >= 0:
                    values[number] = value
            if watch is not None:
                watch(operation, inputs, outputs)
            for number in dead:
                if number not in keep:
                    self.footprint.gone(values[number])
                    values[number] = None

    def compute(
        self, operation: Operation, inputs: Sequence[Value], values: Sequence[Value] | Mapping[int, Value]
    ) -> Sequence[Value]:
        """The outputs of one operation; `values` holds what its subgraphs capture."""
        captured: Mapping[int, Sequence[Value]] = {
            id(operation.attributes[name]): [values[n] for n in numbers] for name, numbers in operation.captures.items()
        }
        call = self.binding(operation).call
        try:
            self.budget.work(work_of(operation.op, inputs, operation.attributes), "")
            foreseen("" if operation.domain else operation.op, inputs, operation.attributes)
            context = RunContext(operation, self.randomness, captured, self.evaluate, self.budget)
            results = [_tensor(value) for value in call(inputs, context)]
            self.budget.produced(self.footprint.made(results, inputs), "")
        except FAILURES as error:
            fail(error, operation, inputs)
        return results

    def compute_alone(
        self, operation: Operation, inputs: Sequence[Value], values: Sequence[Value] | Mapping[int, Value]
    ) -> Sequence[Value]:
        """`compute` for a step of a plan, which does not tell when its results are gone: only what it needs itself counts."""
        with self.footprint.aside():
            return self.compute(operation, inputs, values)


def _tensor(value: Value) -> Value:
    """numpy answers a 0-d operation with a scalar object; a tensor is an array."""
    return np.asarray(value) if isinstance(value, np.generic) else value
