"""A model, ready to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.errors import OptionError, nearest
from exec.feedcheck import check_feeds
from exec.interpreter import Interpreter
from exec.program import MISSING, Operation, flatten
from exec.progress import Cancel
from exec.threads import blas_threads, default_threads

Hook = Callable[[Any, Mapping[str, Value]], None]
"""(source node, its outputs by name), called after each node."""

KERNELS = ("auto", "numpy", "plain")


class Session:
    """Runs a model: `Session(model).run({"x": array})` gives its outputs by name, in the model's order.

    model    anything with `.graph` and `.opsets`
    threads  BLAS threads while running; cores − 1 by default
    kernels  "auto", "numpy" or "plain" (one fixed algorithm per op: equal bits whatever the neighbours)
    fuse     let neighbouring nodes share one step
    seed     of the random ops; every run draws the same numbers
    budget   limits on memory and work
    """

    def __init__(
        self,
        model: Any,
        *,
        threads: int | None = None,
        kernels: str = "auto",
        fuse: bool = True,
        seed: int = 0,
        budget: Any | None = None,
    ) -> None:
        if kernels not in KERNELS:
            known = ", ".join(KERNELS)
            raise OptionError(f"no kernels called '{kernels}'", why=f"known: {known}", hint=nearest(kernels, KERNELS))
        if threads is not None and threads < 1:
            raise OptionError(f"threads is {threads}", why="at least one is needed")
        self.model = model
        self.threads = threads or default_threads()
        self.kernels, self.fuse, self.budget = kernels, fuse, budget
        self.program = flatten(model.graph, model.opsets, model.graph.functions)
        self.interpreter = Interpreter("plain" if kernels == "plain" else "numpy", seed)
        self._inputs = list(model.graph.inputs)
        self._defaults = input_defaults(model.graph)

    def run(
        self,
        feeds: Mapping[str, Value],
        outputs: Sequence[str] | None = None,
        *,
        hook: Hook | None = None,
        cancel: Cancel | None = None,
    ) -> dict[str, Value]:
        """Run once and return the wanted values by name: the model's outputs, or any value named in `outputs`."""
        program = self.program
        wanted = self._wanted(outputs)
        given = check_feeds(feeds, self._inputs, self._defaults)
        values: list[Value] = [None] * len(program.names)
        for tensor, number in zip(self._inputs, program.inputs, strict=True):
            values[number] = given[tensor.name] if tensor.name in given else self._defaults.get(tensor.name)
        self.interpreter.randomness.restart()
        watch = None if hook is None else _watcher(hook, program.names)
        with blas_threads(self.threads):
            self.interpreter.run(program, values, keep=set(wanted.values()), watch=watch, cancel=cancel)
        fed = {id(value) for value in given.values()}
        return {name: None if n == MISSING else _own(values[n], fed) for name, n in wanted.items()}

    def _wanted(self, outputs: Sequence[str] | None) -> dict[str, int]:
        program = self.program
        if outputs is None:
            return {t.name: n for t, n in zip(self.model.graph.outputs, program.outputs, strict=True)}
        for name in outputs:
            if name not in program.named:
                raise OptionError(f"the model has no value '{name}'", hint=nearest(name, program.named))
        return {name: program.named[name] for name in outputs}


def input_defaults(graph: Any) -> dict[str, Array]:
    """Values of the overridable initializers among the inputs."""
    defaults = {}
    for tensor in graph.inputs:
        weight = getattr(tensor, "default", None)
        if weight is not None:
            defaults[tensor.name] = np.asarray(weight.load())
    return defaults


def _watcher(hook: Hook, names: Sequence[str]) -> Callable[[Operation, Sequence[Value], Sequence[Value]], None]:
    def watch(operation: Operation, inputs: Sequence[Value], outputs: Sequence[Value]) -> None:
        named = {names[n]: v for n, v in zip(operation.outputs, outputs, strict=False) if n >= 0 and names[n]}
        hook(operation.node, named)

    return watch


def _own(value: Value, fed: set[int]) -> Value:
    """A result the caller may keep and write to: never a view, a weight or what was fed."""
    if isinstance(value, np.ndarray):
        return value.copy() if value.base is not None or not value.flags.writeable or id(value) in fed else value
    return value
