"""What a kernel may ask of the run it is part of."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from exec.arrays import Value
from exec.program import Operation, Program

Evaluate = Callable[[Program, Sequence[Value], Sequence[Value]], list[Value]]
"""(subgraph, inputs, captured outer values) -> outputs."""


class RunContext:
    """The opsets, the random numbers and the subgraphs of one operation in one run."""

    __slots__ = ("_captured", "_evaluate", "opsets", "rng")

    def __init__(
        self,
        opsets: Mapping[str, int],
        rng: np.random.Generator,
        captured: Mapping[int, Sequence[Value]],
        evaluate: Evaluate,
    ) -> None:
        self.opsets = opsets
        self.rng = rng
        self._captured = captured
        self._evaluate = evaluate

    def run(self, graph: Any, inputs: Sequence[Value]) -> list[Value]:
        """Run a subgraph attribute on `inputs` (in the order of its graph inputs); outer values are captured."""
        return self._evaluate(graph, inputs, self._captured.get(id(graph), ()))


class Randomness:
    """One generator per operation and run, seeded by the session's seed and the name of the value it makes.

    So a run repeats itself, and removing one random node leaves the numbers of the others alone.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._generators: dict[int, np.random.Generator] = {}

    def restart(self) -> None:
        """Begin a run: the same numbers again."""
        self._generators.clear()

    def of(self, operation: Operation, names: Sequence[str]) -> np.random.Generator:
        """The generator of `operation` in this run."""
        found = self._generators.get(id(operation))
        if found is None:
            name = "".join(names[n] for n in operation.outputs if n >= 0)
            entropy = [self.seed, zlib.crc32(name.encode("utf-8", "surrogateescape"))]
            found = self._generators[id(operation)] = np.random.default_rng(entropy)
        return found
