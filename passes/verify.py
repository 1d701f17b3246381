"""Runs the result against the original, and finds and undoes the rewrite that changed the numbers.

The events of a pipeline are numbered and come in the same order every time, so the guilty one is found by bisection: run with fuel for k
applications, compare, halve. It is then barred, and the whole is run and compared again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from exec.arrays import Value
from exec.budget import default_memory_bytes
from exec.errors import BenchError, Cancelled, RewriteError
from exec.ir import Constant, Model
from exec.metrics import Difference, difference
from exec.progress import Cancel, check
from exec.session import Session
from passes.base import Safety
from passes.hopeless import never_runs
from passes.pipeline import Place, Trace
from passes.regional import RegionalVerifier
from passes.report import Undone, Verification, census
from passes.samples import Samples, unproven
from passes.ties import edge, flips, moves, on_edge

if TYPE_CHECKING:
    from passes.optimize import Plan

Feeds = Mapping[str, Value]
RULE_STRIKES = 2
"""A rule found guilty at this many places is left out altogether."""

REGIONS_SHARE = 15
"""Beside a whole run, the regions get this part of the budget's seconds."""


BYTES_A_SECOND, SMALL_BYTES = 1 << 25, 1 << 28
"""Weights that a second of the budget lets run whole, and those that are tried in any case."""


@dataclass(frozen=True, slots=True)
class VerifyBudget:
    """What verification may cost: `seconds`, or three times the optimizer's own if that is more, and `memory_bytes`.

    Over it, only the regions that changed are verified. The memory is a fifth of what this process may have, unless given.
    """

    seconds: float = 30.0
    optimizer_seconds: float = 0.0
    memory_bytes: int | None = None

    @property
    def limit(self) -> float:
        return max(self.seconds, 3 * self.optimizer_seconds)

    @property
    def memory(self) -> int:
        return default_memory_bytes() // 4 if self.memory_bytes is None else self.memory_bytes

    @property
    def weights(self) -> int:
        """The largest weights with which a whole run fits into both: they are read, packed and multiplied, more than once."""
        return min(self.memory, max(SMALL_BYTES, int(self.seconds * BYTES_A_SECOND)))


FEW_NODES = 64
"""A model this small is run even if nothing was changed."""


class Verifier:
    """The original's outputs on a few sets of inputs, to hold results against."""

    def __init__(
        self, model: Model, feeds: Feeds | Sequence[Feeds] | None, budget: VerifyBudget, cancel: Cancel | None = None
    ) -> None:
        self.model, self.budget, self.cancel = model, budget, cancel
        self.began = perf_counter()
        self.given = None if feeds is None else [feeds] if isinstance(feeds, Mapping) else list(feeds)
        self.samples: list[tuple[Feeds, dict[str, Value]]] = []
        self.unproven: tuple[str, ...] = ()
        self.reason = ""
        self.worst = 0.0
        self.kernels = "auto"
        self._session: Session | None = None
        self._whole = self.given is not None or census(model).weight_bytes <= budget.weights

    @property
    def session(self) -> Session:
        """The original, ready to run."""
        if self._session is None:
            self._session = Session(self.model, kernels=self.kernels)
        return self._session

    def witness(self) -> RegionalVerifier:
        """Who looks at each patch as it is applied: at all of them where the whole model cannot be run, else as far as time goes."""
        return RegionalVerifier(seconds=self.budget.seconds / REGIONS_SHARE if self._whole else None)

    def confirmed(self, problem: str, result: Model, safeties: set[Safety]) -> str:
        """A difference, seen again with the simpler kernels: what only the fast ones show is not the rewrites' doing."""
        if not problem or self.kernels != "auto":
            return problem
        self.kernels, self._session = "numpy", None
        self.samples = [(feeds, self.session.run(feeds)) for feeds, _ in self.samples]
        return self.mismatch(result, safeties)

    def _late(self) -> bool:
        """The user's cancel, or a run that takes too much of the budget."""
        check(self.cancel, "the verification")
        return perf_counter() - self.began > self.budget.limit / 3

    def prepare(self) -> bool:
        """Run the original; False, with the reason noted, where it cannot be run."""
        if self.given is not None:
            self.samples = [(feeds, self.session.run(feeds)) for feeds in self.given]
        elif not self._make():
            return False
        self.unproven = unproven(self.model, self.samples)
        return True

    def _make(self) -> bool:
        self.began = perf_counter()
        made = Samples(self.model, lambda: self.session, self._late)
        try:
            made.make(self.budget.limit / 8)
            for seed in (3, 4):
                if unproven(self.model, made.pairs) and not self._late():
                    made.again(seed)
        except Cancelled:
            check(self.cancel, "the verification")
            if not made.pairs:
                self.reason = f"a run of the original, with the first compilation of its kernels, took more than {self.budget.limit / 3:.0f} s"
                return False
        except BenchError as error:
            if not made.pairs:
                hopeless = never_runs(self.model, self.session.run, error)
                if hopeless is not None:
                    raise hopeless from error
                self.reason = f"the original cannot be run: {error.what}"
                return False
        self.samples = made.pairs
        return True

    # ---- comparing

    def mismatch(self, result: Model, safeties: set[Safety]) -> str:
        """How the result differs from the original, or ""."""
        if problem := interface_change(self.model, result):
            return problem
        try:
            session = Session(result, kernels=self.kernels)
            for feeds, wanted in self.samples:
                check(self.cancel, "the verification")
                got = session.run(feeds)
                for name, want in wanted.items():
                    problem = self._differs(name, want, got.get(name), feeds, safeties)
                    if problem:
                        return problem
        except Cancelled:
            raise
        except BenchError as error:
            return f"the result cannot be run: {error.what}"
        return ""

    def _differs(self, name: str, want: Value, got: Value, feeds: Feeds, safeties: set[Safety]) -> str:
        gap = difference(want, got)
        allowed = tolerance(want, safeties)
        if gap.within(allowed):
            self.worst = max(self.worst, gap.max_of_range)
            return ""
        if gap.note:
            return f"output {name}: {gap.note}"
        if safeties != {Safety.EXACT} and self._by_rounding(name, want, got, gap, feeds, safeties):
            return ""
        if gap.mismatches:
            return f"output {name}: {gap.mismatches} of {gap.elements} elements differ"
        return f"output {name} differs by {gap.max_of_range:.2g} of its range, {allowed:.0e} is allowed"

    def _by_rounding(
        self, name: str, want: Value, got: Value, gap: Difference, feeds: Feeds, safeties: set[Safety]
    ) -> bool:
        """Whether the original itself turns rounding into a difference like this: then it proves nothing against a rewrite."""

        def run(moved: Mapping[str, Value]) -> Value:
            return self.session.run(moved)[name]

        if not isinstance(want, np.ndarray) or not isinstance(got, np.ndarray) or want.dtype.kind not in "iub":
            return not gap.mismatches and gap.max_of_range <= 8 * moves(run, feeds, want)
        node = edge(self.model.graph, name)
        if node is not None:
            try:
                operands = [t.values if isinstance(t, Constant) else None for t in node.inputs]
                asked = [t.name for t, known in zip(node.inputs, operands, strict=True) if known is None and t.name]
                made = self.session.run(feeds, asked)
                inputs = [made.get(t.name) if k is None else k for t, k in zip(node.inputs, operands, strict=True)]
                if on_edge(node, inputs, want, got, lambda dtype: _allowed(dtype, safeties)):
                    return True
            except BenchError:
                # the operands cannot be had one by one: the nudged runs decide
                pass
        return flips(run, feeds, want, got)

    # ---- searching

    def verified(
        self, plan: Plan, source: Model, result: Model, trace: Trace, witness: RegionalVerifier
    ) -> tuple[Model, Trace, list[Undone], Verification]:
        """`result` if it is right, else what is left once the guilty rewrites are out.

        witness  it saw the patches of `trace`; what it had undone is in `trace.broken`
        """
        undone = [Undone(e.rule, e.node, e.sources, why) for e, why in trace.broken]
        if not trace.events and not undone and source is self.model:
            if self._whole and self.given is None and census(self.model).nodes <= FEW_NODES:
                self.prepare()  # costs next to nothing, and says of a model that can never run that it is one
            return source.copy(), trace, [], Verification("none", reason="nothing was changed")
        if not self._whole:
            self.reason = f"two runs of {census(self.model).weight_bytes >> 20} MiB of weights are over the budget"
        if not self._whole or not self.prepare():
            if witness.skipped:
                witness = RegionalVerifier()
                result, trace = plan.run(source, witness=witness)
                undone = [Undone(e.rule, e.node, e.sources, why) for e, why in trace.broken]
            return result, trace, undone, self._by_regions(witness)
        barred: set[Place] = {e.place for e, _ in trace.broken}
        strikes: Counter[str] = Counter()
        while True:
            safeties = _safeties(plan, trace)
            problem = self.confirmed(self.mismatch(result, safeties), result, safeties)
            if not problem:
                break
            editor = None if barred else self._editor(plan, source)
            if editor is not None:
                undone.append(
                    Undone(editor, "the graph", (), f"it edited the graph itself instead of giving a patch: {problem}")
                )
                plan = _without(plan, editor)
                result, trace = plan.run(source, barred=barred)
                continue
            number = self._guilty(plan, source, len(trace.events), barred)
            if number == 0 and source is self.model:
                reason = f"two runs of the original itself differ: {problem}"
                return result, trace, undone, replace(self._by_regions(witness), runs=len(self.samples), reason=reason)
            if number == 0:
                raise RewriteError(
                    f"the model at opset {source.opset} computes something else",
                    why=problem,
                    hint="leave out --opset, and report this",
                )
            event = trace.events[number - 1]
            undone.append(Undone(event.rule, event.node, event.sources, problem))
            barred.add(event.place)
            strikes[event.rule] += 1
            if strikes[event.rule] >= RULE_STRIKES:
                plan = _without(plan, event.rule)
            result, trace = plan.run(source, barred=barred)
        seconds = perf_counter() - self.began
        allowed = max(
            (tolerance(w, _safeties(plan, trace)) for _, outs in self.samples for w in outs.values()), default=0.0
        )
        verdict = Verification(
            "whole",
            len(self.samples),
            witness.seen,
            witness.total,
            self.worst,
            allowed,
            seconds,
            unproven=self.unproven,
        )
        return result, trace, undone, verdict

    def _by_regions(self, witness: RegionalVerifier) -> Verification:
        """What is known where only the patches were looked at."""
        return Verification(
            "regions" if witness.seen else "none",
            regions=witness.seen,
            of=witness.total,
            worst=witness.worst,
            seconds=witness.spent,
            reason=self.reason,
        )

    def _editor(self, plan: Plan, source: Model) -> str | None:
        """The rule that changes the graph while it is only asked, if one does."""
        rules = [rule for stage in plan.stages for rule in stage]

        def differs(count: int) -> bool:
            asked = set(rules[:count])
            some = replace(plan, stages=[[r for r in stage if r in asked] for stage in plan.stages])
            return bool(self.mismatch(some.run(source, apply=False)[0], {Safety.EXACT}))

        if not differs(len(rules)) or differs(0):
            return None
        good, bad = 0, len(rules)
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (good, middle) if differs(middle) else (middle, bad)
        return rules[bad - 1].id

    def _guilty(self, plan: Plan, source: Model, events: int, barred: set[Place]) -> int:
        """The number of the first application after which the numbers are wrong; 0 if they were wrong before the first."""
        good, bad = -1, events
        while bad - good > 1:
            middle = (good + bad) // 2 if good >= 0 else 0
            model, trace = plan.run(source, fuel=middle, barred=barred)
            if self.mismatch(model, _safeties(plan, trace)):
                bad = middle
            else:
                good = middle
        return bad


def interface_change(before: Model, after: Model) -> str:
    """What callers would see change, or "": inputs and outputs in number, order, name and type, and which inputs may be left out."""
    for side, old, new in (
        ("input", before.graph.inputs, after.graph.inputs),
        ("output", before.graph.outputs, after.graph.outputs),
    ):
        if [t.name for t in old] != [t.name for t in new]:
            return f"the {side}s are {', '.join(t.name for t in new) or 'none'}, not {', '.join(t.name for t in old)}"
        for a, b in zip(old, new, strict=True):
            if getattr(a, "default", None) is not None and getattr(b, "default", None) is None:
                return f"{side} {a.name} has lost its default"
            if a.dtype is not None and b.dtype is not None and a.dtype != b.dtype:
                return f"{side} {a.name} is {b.dtype}, not {a.dtype}"
            if a.shape is not None and b.shape is not None and len(a.shape) != len(b.shape):
                return f"{side} {a.name} has {len(b.shape)} axes, not {len(a.shape)}"
    return ""


def _without(plan: Plan, rule: str) -> Plan:
    return replace(plan, stages=[[r for r in stage if r.id != rule] for stage in plan.stages])


def _safeties(plan: Plan, trace: Trace) -> set[Safety]:
    known = {chosen.id: chosen for stage in plan.stages for chosen in stage}
    return {known[event.rule].rule.safety for event in trace.events} or {Safety.EXACT}


def tolerance(want: Value, safeties: set[Safety]) -> float:
    """What an output may differ by, as a share of its range. Kernels choose algorithms by shape, so no rewrite is held to equal bits here."""
    return _allowed(want.dtype, safeties) if isinstance(want, np.ndarray) else 1e-4


def _allowed(dtype: np.dtype[Any], safeties: set[Safety]) -> float:
    loosest = Safety.APPROXIMATE if Safety.APPROXIMATE in safeties else Safety.ROUNDING
    return loosest.tolerance(dtype, whole=True)


__all__ = ["Verifier", "VerifyBudget", "tolerance"]
