"""The sets of inputs a result is verified on: made ones at two sizes, and others in value, as far as the original takes them.

One set proves little: an image is never negative, an integer nobody knows the use of is one everywhere. So the same inputs come again with
both signs, zeros and values far out, and with integers to the ends of their type; only the original can say which of them it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter

import numpy as np

from exec.arrays import Array, Value
from exec.cost import cost_of
from exec.effort import CALL
from exec.errors import BenchError, Cancelled
from exec.feed_roles import Roles, roles_of
from exec.feed_sizes import ANONYMOUS
from exec.feeds import make_feeds
from exec.ir import Model
from exec.program import function_key
from exec.progress import Cancel
from exec.session import Session
from exec.trace import Spec, Trace
from passes.drawn import drawable, drawn

Feeds = Mapping[str, Value]
Outputs = dict[str, Value]
PATIENCE = 5.0
"""A varied set may take this many times as long as the first: a size or a trip count among the integers is not waited for."""

LEAST_PATIENCE = 3.0
"""Seconds it may take anyway: kernels may have to be compiled for its shapes, on a machine that has other work."""

MOST_ELEMENTS, MOST_TIMES = 1 << 22, 8
"""Elements of the inputs of other sizes, or how many times the first set's: each of six open axes twice as long is 64 times."""

RATE = 5 * 10**9
"""Multiply-adds that stand for a second: how many sets there are must depend on the model, not on the clock."""


class Samples:
    """Inputs, and what the original makes of them.

    late  cancels a run that takes too much of the budget
    """

    def __init__(self, model: Model, session: Callable[[], Session], late: Cancel) -> None:
        self.model, self._session, self._late = model, session, late
        self.pairs: list[tuple[Feeds, Outputs]] = []

    def make(self, seconds: float, levels: Sequence[str] = ("wide", "extreme")) -> None:
        """Fill `pairs`; beyond the first set only what fits into `seconds` at `RATE`. Raises what the original raises on the first."""
        made = make_feeds(self.model)
        began = perf_counter()
        self.pairs.append((made.feeds, self._run(made.feeds, self._late)))
        first, allowed = perf_counter() - began, seconds * RATE
        work = effort(self._session().traced(made.feeds, cancel=self._late))
        if work > 2 * allowed:
            return
        try:
            if open_sizes := {**made.sizes, **_unnamed(self.model, made.feeds)}:
                self._second(open_sizes)
            for level in levels:
                if work * len(self.pairs) < allowed:
                    self._varied(level, first)
        except Cancelled:
            if self._late():
                return
            raise

    def _run(self, feeds: Feeds, cancel: Cancel) -> Outputs:
        return self._session().run(feeds, cancel=cancel)

    def again(self, seed: int) -> None:
        """One more varied set, for outputs that showed nothing so far."""
        self._varied("wide", 1.0, seed)

    # ---- other sizes

    def _second(self, sizes: Mapping[str, int]) -> None:
        """Other sizes of the open dimensions, as far as the original takes them: each by itself, then all that went well together."""
        taken = dict(sizes)
        best: tuple[Feeds, Outputs] | None = None
        for name, size in sizes.items():
            for other in (2 * size, size + 1):
                if self._late():
                    break
                found = self._sized({**taken, name: other})
                if found is not None:
                    taken[name], best = other, found
                    break
        if best is not None:
            self.pairs.append(best)

    def _sized(self, sizes: Mapping[str, int]) -> tuple[Feeds, Outputs] | None:
        """A run of the original at these sizes; None where it does not take them, which only the original can say."""
        try:
            feeds = make_feeds(self.model, seed=1, dims=sizes, check=False).feeds
            if _elements(feeds) > max(MOST_ELEMENTS, MOST_TIMES * _elements(self.pairs[0][0])):
                return None
            return feeds, self._run(feeds, self._late)
        except Cancelled:
            return None
        except BenchError:
            return None

    # ---- other values

    def _varied(self, level: str, patience: float, seed: int = 2) -> None:
        """The first set with other values: all inputs, or where the original does not take those, floats alone."""
        base, outputs = self.pairs[0]
        until = perf_counter() + max(LEAST_PATIENCE, PATIENCE * patience)
        for only_floats in (False, True):
            feeds = varied(self.model, base, np.random.default_rng([seed, len(self.pairs)]), level, only_floats)
            if feeds is None:
                continue
            try:
                found = self._run(feeds, lambda: perf_counter() > until or self._late())
            except (BenchError, MemoryError):
                continue
            if all(_finite(v) or not _finite(outputs.get(k)) for k, v in found.items()):
                self.pairs.append((feeds, found))
                return


def _elements(feeds: Feeds) -> int:
    return sum(value.size for value in feeds.values() if isinstance(value, np.ndarray))


def effort(trace: Trace) -> int:
    """What a run is worth in multiply-adds, told from its sizes."""
    total = 0
    for operation in trace.operations:
        inputs, outputs = ([_spec(trace, n) for n in numbers] for numbers in (operation.inputs, operation.outputs))
        cost = cost_of(operation.op, operation.attributes, inputs, outputs, (), operation.domain)
        total += CALL + (cost.flops // 2 if cost is not None else 0)
    return total


def _spec(trace: Trace, number: int) -> Spec | None:
    known = trace.known.get(number)
    return Spec(known.shape, known.dtype) if isinstance(known, np.ndarray) else trace.specs.get(number)


def _unnamed(model: Model, feeds: Feeds) -> dict[str, int]:
    """Sizes of the open axes that have no name, as `make_feeds` wants to be told: "x:1"."""
    found = {}
    for tensor in model.graph.inputs:
        value = feeds.get(tensor.name)
        for axis, dim in enumerate(tensor.shape or ()):
            unnamed = ANONYMOUS.match(dim) if isinstance(dim, str) else dim is None or dim <= 0
            if unnamed and isinstance(value, np.ndarray):
                found[f"{tensor.name}:{axis}"] = int(value.shape[axis])
    return found


def _finite(value: Value) -> bool:
    return not isinstance(value, np.ndarray) or value.dtype.kind != "f" or bool(np.isfinite(value).all())


def varied(
    model: Model, base: Feeds, rng: np.random.Generator, level: str, only_floats: bool = False
) -> dict[str, Value] | None:
    """`base` with other values of the same shapes; None where nothing would be another."""
    functions = {function_key(f.domain, f.name, getattr(f, "overload", "")): f for f in model.graph.functions}
    inputs = {t.name: t for t in model.graph.inputs}
    feeds: dict[str, Value] = dict(base)
    changed = False
    for name, value in base.items():
        if not isinstance(value, np.ndarray) or not drawable(value.dtype) or name not in inputs:
            continue
        other = _other(name.lower(), value, roles_of(inputs[name], functions), rng, level, only_floats)
        if other is not None:
            feeds[name], changed = other, True
    return feeds if changed else None


def _other(
    name: str, value: Array, roles: Roles, rng: np.random.Generator, level: str, only_floats: bool
) -> Array | None:
    kind = value.dtype.kind
    if kind in "iubO" and only_floats:
        return None
    if kind == "b":
        return drawn(value.shape, value.dtype, rng)
    if kind == "O":
        return drawn(value.shape, value.dtype, rng) if level == "wide" else None
    if kind in "iu":
        return _integers(name, value, roles, rng, level)
    if roles.compared and value.size == 1:
        return np.full(value.shape, roles.compared[-1], value.dtype)
    if level == "extreme":
        # far out, and finite: what NaN does spreads over everything and shows nothing
        values: Array = 10.0 * np.asarray(rng.standard_normal(value.shape))
    else:
        values = drawn(value.shape, np.dtype(np.float64), rng, level)
    return (np.abs(values) + 1e-3 if roles.positive else values).astype(value.dtype)


def _integers(name: str, value: Array, roles: Roles, rng: np.random.Generator, level: str) -> Array | None:
    if "position" in name:
        return None
    if "mask" in name or "token_type" in name or "segment" in name:
        other: Array = rng.integers(0, 2, value.shape).astype(value.dtype)
        if other.ndim:
            other[..., 0] = value[..., 0]
        return other
    if roles.bound is not None:
        top = min(roles.bound, int(np.iinfo(value.dtype).max) + 1)
        return np.asarray(rng.integers(0, top, value.shape), value.dtype)
    if roles.compared:
        return np.asarray(rng.choice(np.asarray(roles.compared), value.shape), value.dtype)
    return drawn(value.shape, value.dtype, rng, level)


# ---- what the outputs show


def unproven(model: Model, pairs: list[tuple[Feeds, Outputs]]) -> tuple[str, ...]:
    """Outputs that depend on an input and came out without a finite number, empty, or the same everywhere and every time."""
    depends = _dependent(model)
    names = pairs[0][1] if pairs else {}
    return tuple(n for n in names if n in depends and _says_nothing([outs[n] for _, outs in pairs if n in outs]))


def _says_nothing(values: list[Value]) -> bool:
    arrays = [v for v in values if isinstance(v, np.ndarray) and v.dtype.kind in "fiub"]
    if len(arrays) != len(values):
        return False
    kept = [a.reshape(-1) for a in arrays if a.size]
    if arrays and arrays[0].dtype.kind == "f":
        kept = [a[np.isfinite(a)] for a in kept]
        kept = [a for a in kept if a.size]
    if not kept:
        return True
    first = kept[0][0]
    if sum(a.size for a in kept) == 1:
        return False
    return all(bool((a == first).all()) for a in kept)


def _dependent(model: Model) -> set[str]:
    """Names of the outputs whose values, not only their shapes, come from a graph input."""
    reached: set[int] = {id(t) for t in model.graph.inputs}
    for node in model.graph.nodes:
        inner = any(hasattr(v, "nodes") for v in node.attrs.values())
        if node.op not in ("Shape", "Size") and (inner or any(id(t) in reached for t in node.inputs)):
            reached.update(id(t) for t in node.outputs)
    return {t.name for t in model.graph.outputs if id(t) in reached}


__all__ = ["Samples", "unproven", "varied"]
