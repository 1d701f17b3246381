"""A model, ready to run."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.binding import FAILURES, out_of_memory
from exec.budget import Budget, default_limits
from exec.compiled import available
from exec.effort import allowed
from exec.errors import EngineMissing, OptionError, nearest
from exec.expansion import expanded_nodes
from exec.feedcheck import WEIGHTS, check_feeds
from exec.footprint import allowance, counting
from exec.interpreter import Interpreter
from exec.lowering.fallback import ShapeChangedError
from exec.lowering.packs import Packs
from exec.plan import Options, Plan, owned
from exec.program import MISSING, constant_bytes, filled_bytes, flatten, function_key
from exec.progress import Cancel, check
from exec.threads import blas_threads, default_threads
from exec.trace import Trace, Tracer, signature_of

Hook = Callable[[Any, Mapping[str, Value]], None]
"""(source node, its outputs by name), called after each node; the arrays are valid during the call only."""

KERNELS = ("auto", "numpy", "compiled", "plain")

MOST_PLANS = 8
"""Plans a session keeps; the one used longest ago goes first."""

MOST_FIXED = 4
"""Values of one scalar input that get plans of their own; after that it is an input like any other."""


class Session:
    """Runs a model: `Session(model).run({"x": array})` gives its outputs by name, in the model's order.

    model    anything with `.graph` and `.opsets`
    threads  BLAS threads while running; cores − 1 by default
    kernels  "auto" (compiled where numba is there and faster; OWB_KERNELS overrides), "numpy", "compiled",
             or "plain" (one fixed algorithm per op: equal bits whatever the shape and the neighbours)
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
        budget: Budget | None = None,
    ) -> None:
        self.kernels = chosen_kernels(kernels)
        if threads is not None and threads < 1:
            raise OptionError(f"threads is {threads}", why="at least one is needed")
        self.model, self.fuse, self.budget = model, fuse, budget
        self.threads = threads or default_threads()
        self._default_limits = default_limits()
        table = {function_key(f.domain, f.name, getattr(f, "overload", "")): f for f in model.graph.functions}
        if table:
            self._limits().expand(expanded_nodes(model.graph, table, function_key), "expanding the model's functions")
        self.program = flatten(model.graph, model.opsets, model.graph.functions)
        self.interpreter = Interpreter("plain" if self.kernels == "plain" else "numpy", seed)
        self.packs = Packs()
        self._weight_bytes, self._filled_bytes = constant_bytes(self.program), filled_bytes(self.program)
        self._inputs = list(model.graph.inputs)
        self._defaults = input_defaults(model.graph)
        self._plans: OrderedDict[Any, Plan] = OrderedDict()
        self._traces: OrderedDict[Any, Trace] = OrderedDict()
        self._seen: dict[str, set[Any]] = {}
        self._unplannable: set[Any] = set()
        self._again: OrderedDict[Any, Callable[..., dict[str, Value]]] = OrderedDict()
        self._lock = threading.RLock()

    def run(
        self,
        feeds: Mapping[str, Value],
        outputs: Sequence[str] | None = None,
        *,
        hook: Hook | None = None,
        cancel: Cancel | None = None,
    ) -> dict[str, Value]:
        """Run once and return the wanted values by name: the model's outputs, or any value named in `outputs`."""
        with self._lock, np.errstate(all="ignore"), counting(self.interpreter.footprint):
            self._restart(feeds)
            key = None if hook is not None else _looks(feeds, outputs)
            again = self._again.get(key) if key is not None else None
            if again is not None:
                try:
                    return again(feeds, cancel)
                except ShapeChangedError:
                    del self._again[key]
            wanted = self._wanted(outputs)
            given = self._given(feeds)
            if hook is not None:
                results = self._hooked(given, list(wanted.values()), hook, cancel)
            else:
                results = self._run(given, list(wanted.values()), cancel)
                if key is not None and not self._unplannable and self.kernels != "plain":
                    self._remember(key, given, wanted)
        return dict(zip(wanted, results, strict=True))

    def _remember(self, key: Any, given: Mapping[int, Value], wanted: Mapping[str, int]) -> None:
        """Keep the way to the plan for inputs that look like these: they need no second check."""
        plan = self.plan(given, list(wanted.values()))
        names = {number: tensor.name for tensor, number in zip(self._inputs, self.program.inputs, strict=True)}
        defaults = self._defaults

        def again(feeds: Mapping[str, Value], cancel: Cancel | None) -> dict[str, Value]:
            values = {n: feeds[name] if name in feeds else defaults.get(name) for n, name in names.items()}
            with blas_threads(self.threads) if plan.uses_blas else nullcontext():
                return dict(zip(wanted, plan.run(values, cancel), strict=True))

        self._again[key] = again
        while len(self._again) > MOST_PLANS:
            self._again.popitem(last=False)

    def _restart(self, feeds: Mapping[str, Value]) -> None:
        """Fresh limits for a run on `feeds`."""
        given_bytes = self._weight_bytes + sum(int(getattr(value, "nbytes", 0)) for value in feeds.values())
        budget = self.budget or Budget(allowed(self._default_limits, given_bytes, self._filled_bytes))
        self.interpreter.budget = budget
        self.interpreter.footprint.begin(allowance(budget.limits, given_bytes, self._filled_bytes))

    def renew(self) -> None:
        """Begin another run on the same inputs: what limits one of them is not spent by the one before."""
        if self.budget is None:
            self.interpreter.budget = Budget(self.interpreter.budget.limits)

    def _limits(self) -> Budget:
        """The caller's budget, spent over all runs; without one the default limits hold for each run."""
        return Budget(self._default_limits) if self.budget is None else self.budget

    def values(
        self, feeds: Mapping[str, Value], names: Sequence[str], *, cancel: Cancel | None = None
    ) -> Iterator[tuple[str, Value]]:
        """The named values of one run, each as soon as it is made; the arrays are the caller's own."""
        wanted = self._wanted(names)
        with self._lock, blas_threads(self.threads), np.errstate(all="ignore"), counting(self.interpreter.footprint):
            self._restart(feeds)
            given = self._given(feeds)
            made = {n: value for n, value in given.items() if n in wanted.values()}
            names_of: dict[int, list[str]] = {}
            for name, number in wanted.items():
                names_of.setdefault(number, []).append(name)
            ready: list[tuple[str, Value]] = []

            def observe(number: int, value: Value) -> None:
                ready.extend((name, owned(value)) for name in names_of.get(number, ()))

            for number, value in made.items():
                observe(number, value)
            plan = self.plan(given, (), watched=[n for n in wanted.values() if n not in given], fleeting=True)
            constants = [n for n in names_of if n in plan.known]
            for number in constants:
                observe(number, plan.known[number])
            plan.observer = observe
            plan.feed(given)
            yield from ready
            ready.clear()
            for position, step in enumerate(plan.steps):
                check(cancel, "the run")
                try:
                    step()
                except FAILURES as error:
                    plan.fail(error, position)
                if ready:
                    yield from ready
                    ready.clear()

    @contextmanager
    def ready(
        self, feeds: Mapping[str, Value], *, cancel: Cancel | None = None
    ) -> Iterator[tuple[Plan, dict[int, Value]]]:
        """The plan for these inputs, and the inputs by value number; nobody else runs meanwhile."""
        with self._lock, counting(self.interpreter.footprint):
            self._restart(feeds)
            given = self._given(feeds)
            yield self.plan(given, list(self._wanted(None).values()), cancel=cancel), given

    def traced(self, feeds: Mapping[str, Value], *, cancel: Cancel | None = None) -> Trace:
        """Types, shapes and known values for these inputs; no plan is made and no weight packed."""
        with self._lock, counting(self.interpreter.footprint):
            self._restart(feeds)
            given = self._given(feeds)
            fixed = self._fixed(given)
            return self._trace(self._signature(given, fixed), given, fixed, cancel)

    def trace_of(self, given: Mapping[int, Value]) -> Trace:
        """The trace behind the plan for these inputs."""
        fixed = self._fixed(given)
        return self._trace(self._signature(given, fixed), given, fixed, None)

    def plan(
        self,
        given: Mapping[int, Value],
        outputs: Sequence[int],
        *,
        watched: Collection[int] = (),
        fleeting: bool = False,
        fuse: bool | None = None,
        cancel: Cancel | None = None,
    ) -> Plan:
        """The plan for inputs like `given` (by value number) and these outputs; made at first sight, kept for later.

        fleeting  the observer copies a watched value when it is told: its memory is free from the next step on
        """
        fixed = self._fixed(given)
        key = (self._signature(given, fixed), tuple(outputs), frozenset(watched), fleeting, fuse)
        plan = self._plans.get(key)
        if plan is None:
            trace = self._trace(key[0], given, fixed, cancel)
            options = Options(self.fuse if fuse is None else fuse, self.kernels == "compiled", self.threads)
            inputs = {n: value for n, value in given.items() if n not in fixed}
            with blas_threads(self.threads), np.errstate(all="ignore"):
                try:
                    plan = Plan(trace, inputs, outputs, self.interpreter, self.packs, options, watched, fleeting)
                except MemoryError as error:
                    raise out_of_memory(error, "planning the run") from error
            self._plans[key] = plan
            while len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
        self._plans.move_to_end(key)
        return plan

    def _run(self, given: dict[int, Value], outputs: list[int], cancel: Cancel | None) -> list[Value]:
        if self.kernels == "plain":
            return self._interpreted(given, outputs, cancel)
        if self._unplannable and self._signature(given, {}) in self._unplannable:
            return self._interpreted(given, outputs, cancel)
        try:
            plan = self.plan(given, outputs, cancel=cancel)
            with blas_threads(self.threads) if plan.uses_blas else nullcontext():
                return plan.run(given, cancel)
        except ShapeChangedError:
            self._unplannable.add(self._signature(given, {}))
            return self._interpreted(given, outputs, cancel)

    def _interpreted(self, given: Mapping[int, Value], outputs: list[int], cancel: Cancel | None) -> list[Value]:
        values: list[Value] = [None] * len(self.program.names)
        for number, value in given.items():
            values[number] = value
        self.interpreter.randomness.restart()
        with blas_threads(self.threads):
            self.interpreter.run(self.program, values, keep=set(outputs), cancel=cancel)
        return [None if n == MISSING else owned(values[n]) for n in outputs]

    def _hooked(self, given: dict[int, Value], outputs: list[int], hook: Hook, cancel: Cancel | None) -> list[Value]:
        names = self.program.names
        nodes = {n: o for o in self.program.operations for n in o.outputs if n >= 0 and names[n]}
        plan = self.plan(given, outputs, watched=list(nodes), fuse=False, cancel=cancel)
        pending: dict[str, Value] = {}

        def observe(number: int, value: Value) -> None:
            operation = nodes[number]
            pending[names[number]] = value
            if number == max(operation.outputs):
                hook(operation.node, dict(pending))
                pending.clear()

        plan.observer = observe
        for number in nodes:
            if number in plan.known:
                observe(number, plan.known[number])
        with blas_threads(self.threads):
            return plan.run(given, cancel)

    def _trace(self, key: Any, given: Mapping[int, Value], fixed: Mapping[int, Value], cancel: Cancel | None) -> Trace:
        trace = self._traces.get(key)
        if trace is None:
            tracer = Tracer(self.program, self.interpreter, cancel)
            self.interpreter.randomness.restart()
            with blas_threads(self.threads), np.errstate(all="ignore"), counting(self.interpreter.footprint):
                tracer.run({n: v for n, v in given.items() if n not in fixed}, fixed, ())
            trace = self._traces[key] = tracer.trace
            self.renew()
            while len(self._traces) > MOST_PLANS:
                self._traces.popitem(last=False)
        return trace

    def _given(self, feeds: Mapping[str, Value]) -> dict[int, Value]:
        """The inputs by value number, defaults filled in."""
        checked = check_feeds(feeds, self._inputs, self._defaults, self.model.graph.metadata.get(WEIGHTS, ""))
        return {
            number: checked[tensor.name] if tensor.name in checked else self._defaults.get(tensor.name)
            for tensor, number in zip(self._inputs, self.program.inputs, strict=True)
        }

    def _fixed(self, given: Mapping[int, Value]) -> dict[int, Array]:
        """The inputs whose values belong to the signature: whole numbers and booleans without axes, and defaults."""
        fixed = {}
        for tensor, number in zip(self._inputs, self.program.inputs, strict=True):
            value = given[number]
            if tensor.name in self._defaults and value is self._defaults[tensor.name]:
                fixed[number] = value
            elif isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iub":
                seen = self._seen.setdefault(tensor.name, set())
                if value.item() in seen or len(seen) < MOST_FIXED:
                    seen.add(value.item())
                    fixed[number] = value
        return fixed

    def _signature(self, given: Mapping[int, Value], fixed: Mapping[int, Array]) -> tuple[Any, ...]:
        named = {str(n): value for n, value in given.items()}
        scalars = {str(n): value for n, value in fixed.items() if value.ndim == 0}
        defaults = tuple(sorted(n for n, value in fixed.items() if value.ndim))
        return (*signature_of(named, scalars), defaults)

    def _wanted(self, outputs: Sequence[str] | None) -> dict[str, int]:
        program = self.program
        if outputs is None:
            return {t.name: n for t, n in zip(self.model.graph.outputs, program.outputs, strict=True)}
        for name in outputs:
            if name not in program.named:
                raise OptionError(f"the model has no value '{name}'", hint=nearest(name, program.named))
        return {name: program.named[name] for name in outputs}


def _looks(feeds: Mapping[str, Value], outputs: Sequence[str] | None) -> Any | None:
    """What inputs look like: names, types, shapes, and the values of scalars; None where that is not all that counts."""
    parts: list[Any] = [None if outputs is None else tuple(outputs)]
    for name, value in feeds.items():
        if type(value) is not np.ndarray or value.dtype.kind in "OUST":
            return None
        scalar = value.item() if value.ndim == 0 and value.dtype.kind in "iub" else None
        parts.append((name, value.dtype, value.shape, scalar))
    return tuple(parts)


def chosen_kernels(wanted: str) -> str:
    """ "numpy", "compiled" or "plain": what "auto" means here and now."""
    if wanted not in KERNELS:
        known = ", ".join(KERNELS)
        raise OptionError(f"no kernels called '{wanted}'", why=f"known: {known}", hint=nearest(wanted, KERNELS))
    if wanted == "auto":
        forced = os.environ.get("OWB_KERNELS", "auto")
        if forced != "auto":
            return chosen_kernels(forced)
        return "compiled" if available() else "numpy"
    if wanted == "compiled" and not available():
        raise EngineMissing("compiled kernels need numba", hint="pip install 'onnx-workbench[jit]'")
    return wanted


def input_defaults(graph: Any) -> dict[str, Array]:
    """Values of the overridable initializers among the inputs."""
    defaults = {}
    for tensor in graph.inputs:
        weight = getattr(tensor, "default", None)
        if weight is not None:
            defaults[tensor.name] = np.asarray(weight.load())
    return defaults
