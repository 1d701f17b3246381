"""Checks each patch by itself: both sides of it, on seeded values of what enters it.

For models whose whole run does not fit the budget this is all; elsewhere it stands beside the whole run, which sees neither the branch
that was not taken nor what a saturated output hides. Nothing but the nodes around a patch is run, so its cost depends on the patches,
not on the model; what it cannot see is a patch that is right here and wrong in its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.budget import Budget, Limits
from exec.errors import BenchError
from exec.ir import Constant, Graph, Node, Variable
from exec.metrics import difference
from exec.session import Session
from passes.base import Rewrite, Safety
from passes.dims import evaluate
from passes.drawn import LEVELS, drawable, drawn
from passes.patch import Applied, Patch
from passes.region import Region
from passes.ties import flips, moves

MOST_ELEMENTS = 1 << 22
SMALL = 1 << 18
"""Elements that enter a patch which is always looked at, however often its rule was right."""

LONG = 18
"""About what an open size is at most."""

LARGE = 1 << 16
"""Elements that enter a patch which is looked at with ordinary values only."""

OFTEN = 3
"""A rule seen right this often on large values is looked at on small ones only, unless the regions are all there is."""

CONTEXT = 16
"""Nodes before a patch that are run, too, where it is wrong by itself: a rule may know of a value that it is never negative."""

SIZES = {"plain": "small", "wide": "other"}

RANKS = (4, 3, 2, 1, 5)
"""Tried in turn for values of which nothing is known, such as what an unknown operator makes: a rule that asks for nothing is right for all."""

LIMITS = Limits(bytes_alive=1 << 30, loop_steps=1000, seconds=5.0)


@dataclass(slots=True)
class Trial:
    """One set of values: what enters, and what the old nodes make of it."""

    level: str
    entered: dict[Any, Value]
    known: dict[Any, Value]


@dataclass(slots=True)
class Sighting:
    """What was there before a patch: the old nodes, the same with what comes before them, trials, and which new value stands for which old one."""

    part: Part
    context: Part
    trials: list[Trial]
    wanted: list[tuple[Any, Any]]


class RegionalVerifier:
    """Looks at every patch of a run; `seen` of `total` could be compared.

    seconds  how long it may take; None where the regions are all that is verified, and each counts
    """

    def __init__(self, seed: int = 0, seconds: float | None = None) -> None:
        self.rng = np.random.default_rng(seed)
        self.seconds, self.spent = seconds, 0.0
        self.seen = self.total = self.skipped = 0
        self.worst = 0.0
        self.sizes: dict[tuple[str, str], int] = {}
        self._right: Counter[str] = Counter()

    def before(self, patch: Patch, opset: int | None = None) -> Sighting | None:
        """Run the old nodes of a patch, at `opset` where they mean another than the region's; None where that cannot be done."""
        self.total += 1
        began = perf_counter()
        found = self._before(patch, opset)
        self.spent += perf_counter() - began
        return found

    def _before(self, patch: Patch, opset: int | None) -> Sighting | None:
        wanted = [(t, t) for n in patch.nodes for t in n.outputs if t.inputs]
        wanted += [(old, new) for old, new in patch.redirects] + [(old, new) for new, old in patch.renames]
        nodes = _slice([old for old, _ in wanted], set(patch.sources), patch.region)
        if not nodes or any(any(isinstance(v, Graph) for v in n.attrs.values()) for n in nodes):
            return None
        entering = _entering(nodes)
        if self._saves(patch, entering):
            self.skipped += 1
            return None
        part = Part(nodes, entering, patch.region, opset)
        around = _context(nodes)
        context = Part(around, _entering(around), patch.region, opset)
        trials = self._trials(part, patch.region, wanted)
        return Sighting(part, context, trials, wanted) if trials else None

    def _trials(self, part: Part, region: Region, wanted: list[tuple[Any, Any]]) -> list[Trial]:
        """The old nodes on values of each level, as far as they take them."""
        if all(region.fact(t).shape is not None for t in part.entering):
            return self._trials_of(part, region, wanted, 0)
        tried = (self._trials_of(part, region, wanted, rank) for rank in RANKS)
        return next((trials for trials in tried if trials), [])

    def _trials_of(self, part: Part, region: Region, wanted: list[tuple[Any, Any]], rank: int) -> list[Trial]:
        trials = []
        large = sum(self._elements(t, region) for t in part.entering) > LARGE
        for level in LEVELS[:2] if large else LEVELS:
            values = {t: self.value(t, region, level, rank) for t in part.entering}
            if any(v is None for v in values.values()):
                break
            entered: dict[Any, Value] = dict(values)
            made = part.run(entered)
            if made is not None:
                known = {**entered, **made}
                if all(old in known for old, _ in wanted):
                    trials.append(Trial(level, entered, known))
        return trials

    def _saves(self, patch: Patch, entering: Iterable[Any]) -> bool:
        """Whether to pass by, because time is short and the rule was right before."""
        if self.seconds is None:
            return False
        often = self._right[patch.rule] >= OFTEN
        if self.spent > self.seconds:
            return often or self.spent > 4 * self.seconds
        return often and sum(self._elements(t, patch.region) for t in entering) > SMALL

    def _elements(self, tensor: Any, region: Region) -> int:
        shape = region.fact(tensor).shape or ()
        return int(np.prod([max(1, evaluate(d, lambda name: LONG)) for d in shape], dtype=np.int64))

    def after(self, done: Applied, sighting: Sighting, rule: Rewrite) -> str:
        """How the new nodes differ from the old ones, or ""."""
        began = perf_counter()
        try:
            problem = self._after(done, sighting, rule)
        finally:
            self.spent += perf_counter() - began
        return problem

    def _after(self, done: Applied, sighting: Sighting, rule: Rewrite) -> str:
        nodes = [n for n in done.made if done.region.alive(n)]
        made = {t for n in nodes for t in n.outputs}
        entering = _entering(nodes)
        if any(t not in sighting.trials[0].known or t in made for t in entering):
            return ""
        part = Part(nodes, entering, done.region) if nodes else None
        problem = self._compared(part, made, sighting, sighting.part, sighting.trials, rule)
        if problem and len(sighting.context.nodes) > len(sighting.part.nodes):
            trials = self._trials(sighting.context, done.region, sighting.wanted)
            if trials:
                problem = self._compared(part, made, sighting, sighting.context, trials, rule)
        if problem is None:
            return ""
        if not problem:
            self.seen += 1
            self._right[rule.id] += 1
        return problem

    def _compared(
        self, part: Part | None, made: set[Any], sighting: Sighting, old: Part, trials: list[Trial], rule: Rewrite
    ) -> str | None:
        """How the new nodes differ in these trials, or ""; None where a value cannot be had."""
        for trial in trials:
            if rule.finite_only and trial.level in ("far", "extreme"):
                continue
            now: dict[Any, Value] = {t: v for t, v in trial.known.items() if t not in made}
            if part is not None:
                try:
                    now |= part.run({t: trial.known[t] for t in part.entering}, raises=True) or {}
                except (BenchError, ArithmeticError, LookupError, TypeError, ValueError) as error:
                    return f"the new nodes cannot be run: {str(error).splitlines()[0]}"
            for before, after in sighting.wanted:
                value = after.values if isinstance(after, Constant) else now.get(after)
                if value is None:
                    return None
                problem = self._differs(before, value, trial, old, rule)
                if problem:
                    return problem
        return ""

    def _differs(self, old: Any, got: Value, trial: Trial, part: Part, rule: Rewrite) -> str:
        want = trial.known[old]
        gap = difference(want, got)
        kind = np.asarray(want).dtype.kind
        allowed = rule.safety.tolerance(np.asarray(want).dtype, bound=rule.bound) * 4
        if gap.within(max(allowed, 1e-6 if kind == "f" else 0.0)):
            self.worst = max(self.worst, gap.max_of_range)
            return ""
        if gap.note:
            return f"value {old.name} is another here: {gap.note}"
        if rule.safety is not Safety.EXACT and self._by_rounding(old, want, got, gap.max_of_range, trial, part):
            return ""
        among = {"extreme": " with NaN, infinities and the ends of integer types", "far": " with values far out"}
        where = among.get(trial.level, "")
        if gap.mismatches:
            return f"value {old.name}: {gap.mismatches} of {gap.elements} elements differ here{where}"
        return f"value {old.name} differs by {gap.max_of_range:.2g} of its range here{where}"

    def _by_rounding(self, old: Any, want: Value, got: Value, gap: float, trial: Trial, part: Part) -> bool:
        """Whether the old nodes themselves turn the last bits of what enters into a difference like this."""

        def run(feeds: Mapping[Any, Value]) -> Value:
            return (part.run(dict(feeds)) or {}).get(old)

        if not isinstance(want, np.ndarray) or not isinstance(got, np.ndarray):
            return False
        if want.dtype.kind in "iub":
            return flips(run, trial.entered, want, got)
        same = np.isfinite(want) == np.isfinite(got)
        return bool(same.all()) and gap <= 8 * moves(run, trial.entered, want)

    def value(self, tensor: Any, region: Region, level: str, rank: int = 0) -> Array | None:
        """A seeded value of the type and shape that is known of `tensor`; where they are not, of float32 and `rank` axes."""
        fact = region.fact(tensor)
        if fact.shape is None and rank and fact.dtype in (None, np.float32):
            return drawn([2, 3, 4, 5, 2][:rank], np.dtype(np.float32), self.rng, level)
        if fact.shape is None or fact.dtype is None:
            return None
        sizes = SIZES.get(level, "large")

        def size(name: str) -> int:
            return self._size(sizes, name)

        if fact.value is not None and fact.dtype.kind in "iubf":
            # shape arithmetic: only these numbers ever enter
            elements = [evaluate(v, size) for v in fact.value.reshape(-1)]
            return np.array(elements, fact.dtype).reshape(fact.value.shape)
        shape = [max(1, evaluate(d, size)) for d in fact.shape]
        if not drawable(fact.dtype) or int(np.prod(shape, dtype=np.int64)) > MOST_ELEMENTS:
            return None
        return drawn(shape, fact.dtype, self.rng, level)

    def _size(self, sizes: str, name: str) -> int:
        """Sizes of the open dims, no two neighbours alike: 2 to 4, then 5 to 3, then larger than what rules are tried on."""
        key = sizes, name
        number = sum(kind == sizes for kind, _ in self.sizes) % 3
        return self.sizes.setdefault(key, {"small": 2 + number, "other": 5 - number, "large": 17 + number}[sizes])


class Part:
    """Some nodes as a model of their own."""

    def __init__(self, nodes: list[Node], entering: Iterable[Any], region: Region, opset: int | None = None) -> None:
        self.nodes, self.entering = nodes, list(entering)
        # the nodes lose their outputs once the patch is applied
        self.made = [t for n in nodes for t in n.outputs if t.name]
        graph, self.names = _copied(nodes, self.entering)
        opsets = {**region.workspace.model.opsets, "": opset or region.opset}
        self.model: Any = SimpleNamespace(graph=graph, opsets=opsets)
        self.session: Session | None = None

    def run(self, feeds: Mapping[Any, Value], raises: bool = False) -> dict[Any, Value] | None:
        """Every value the nodes make; None where they cannot be run, unless `raises`."""
        names = self.names
        try:
            if self.session is None:
                self.session = Session(self.model, kernels="numpy", fuse=False, threads=1)
            self.session.budget = Budget(LIMITS)
            out = self.session.run({names[t]: v for t, v in feeds.items()})
        except (BenchError, ArithmeticError, LookupError, TypeError, ValueError):
            # random values where the model has real ones: what the old nodes cannot compute is no verdict on the patch
            if raises:
                raise
            return None
        return {t: out[names[t]] for t in self.made}


def _slice(outputs: Iterable[Any], allowed: set[Node], region: Region) -> list[Node] | None:
    """The nodes among `allowed` that make `outputs`, in order, and those whose result the rules know; None if one is made elsewhere."""
    order: dict[Node, None] = {}

    def visit(tensor: Any) -> bool:
        maker = tensor.inputs[0] if tensor.inputs else None
        if maker is None or (maker not in allowed and not _known(tensor, region)):
            return False
        if maker not in order:
            for source in maker.inputs:
                visit(source)
            order[maker] = None
        return True

    return list(order) if all(visit(t) for t in outputs) else None


def _context(nodes: list[Node]) -> list[Node]:
    """The nodes and up to `CONTEXT` more that come before them, in order."""
    chosen = set(nodes)
    before: list[Node] = []
    wave = list(nodes)
    while wave and len(before) < CONTEXT:
        makers = dict.fromkeys(t.inputs[0] for n in wave for t in n.inputs if t.inputs)
        wave = [n for n in makers if n not in chosen and not any(isinstance(v, Graph) for v in n.attrs.values())]
        chosen.update(wave)
        before += wave
    order: dict[Node, None] = {}

    def visit(node: Node) -> None:
        for tensor in node.inputs:
            if tensor.inputs and tensor.inputs[0] in chosen and tensor.inputs[0] not in order:
                visit(tensor.inputs[0])
        order[node] = None

    for node in nodes:
        if node not in order:
            visit(node)
    return list(order)


def _known(tensor: Any, region: Region) -> bool:
    """Whether a node's result is as good as a constant: rules compute with it."""
    return region.constant(tensor) is not None and region.fact(tensor).value is None


def _entering(nodes: list[Node]) -> list[Any]:
    """The values that the nodes read and do not make."""
    made = {t for n in nodes for t in n.outputs}
    read = dict.fromkeys(t for n in nodes for t in n.inputs if t.name and not isinstance(t, Constant))
    return [t for t in read if t not in made]


def _copied(nodes: list[Node], entering: Iterable[Any]) -> tuple[Graph, dict[Any, str]]:
    """A graph of copies of `nodes`, unlinked from the model; names of its values."""
    twins: dict[Any, Any] = {}
    names: dict[Any, str] = {}

    def twin(tensor: Any) -> Any:
        if tensor not in twins:
            if isinstance(tensor, Constant):
                twins[tensor] = tensor.copy()
            elif not tensor.name:
                return Variable.empty()
            else:
                names[tensor] = f"v{len(names)}"
                twins[tensor] = Variable(names[tensor], getattr(tensor, "dtype", None))
        return twins[tensor]

    inputs = [twin(t) for t in entering]
    copies = [
        Node(n.op, n.name, dict(n.attrs), [twin(t) for t in n.inputs], [twin(t) for t in n.outputs], n.domain)
        for n in nodes
    ]
    outputs = [twins[t] for n in nodes for t in n.outputs if t.name]
    return Graph(copies, inputs, outputs, "patch"), names
