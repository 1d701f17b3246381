"""What a kernel may ask of the run it is part of."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from exec.arrays import Value
from exec.budget import Budget
from exec.program import Operation, Program

Evaluate = Callable[[Program, Sequence[Value], Sequence[Value]], list[Value]]
"""(subgraph, inputs, captured outer values) -> outputs."""


class Randomness:
    """One generator per random node and run, seeded by the session's seed and the name of what the node makes.

    So a run repeats itself, and removing one random node leaves the numbers of the others alone.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._generators: dict[str, np.random.Generator] = {}

    def restart(self) -> None:
        """Begin a run: the same numbers again."""
        self._generators.clear()

    def of(self, operation: Operation) -> np.random.Generator:
        """The generator of `operation` in this run; a node in a loop draws on from iteration to iteration."""
        outputs = operation.node.outputs
        name = f"{operation.op} {outputs[0].name if outputs else operation.node.name}"
        found = self._generators.get(name)
        if found is None:
            entropy = [self.seed, zlib.crc32(name.encode("utf-8", "surrogateescape"))]
            found = self._generators[name] = np.random.default_rng(entropy)
        return found


class RunContext:
    """The opsets, the random numbers and the subgraphs of one operation in one run."""

    __slots__ = ("_budget", "_captured", "_evaluate", "_operation", "_randomness")

    def __init__(
        self,
        operation: Operation,
        randomness: Randomness,
        captured: Mapping[int, Sequence[Value]],
        evaluate: Evaluate,
        budget: Budget | None = None,
    ) -> None:
        self._operation = operation
        self._randomness = randomness
        self._captured = captured
        self._evaluate = evaluate
        self._budget = budget

    @property
    def opsets(self) -> Mapping[str, int]:
        """Domain to version, "" for ai.onnx."""
        return self._operation.opsets

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers for this operation."""
        return self._randomness.of(self._operation)

    def hold(self, value: Value) -> None:
        """Spend memory on a value that a loop keeps until its end."""
        if self._budget is not None and isinstance(value, np.ndarray):
            node = self._operation.node
            self._budget.allocate(value.nbytes, f"node {node.name or node.op}")

    @property
    def work(self) -> int:
        """Multiply-adds this run has spent so far."""
        return 0 if self._budget is None else self._budget.multiply_adds

    def foresee(self, steps: int, work: int) -> None:
        """Refuse `steps` iterations of `work` multiply-adds each where they are over the limits."""
        if self._budget is not None:
            self._budget.foresee(steps, work, "")

    def run(self, graph: Any, inputs: Sequence[Value]) -> list[Value]:
        """Run a subgraph attribute on `inputs` (in the order of its graph inputs); outer values are captured."""
        return self._evaluate(graph, inputs, self._captured.get(id(graph), ()))
