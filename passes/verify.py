"""Runs the result against the original, and finds and undoes the rewrite that changed the numbers.

The events of a pipeline are numbered and come in the same order every time, so the guilty one is found by bisection: run with fuel for k
applications, compare, halve. It is then barred, and the whole is run and compared again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from exec.arrays import Array, Value
from exec.budget import default_memory_bytes
from exec.errors import BenchError, Cancelled, RewriteError
from exec.feeds import make_feeds
from exec.ir import Model
from exec.metrics import Difference, difference
from exec.progress import Cancel, check
from exec.session import Session
from passes.base import Rewrite, Safety
from passes.pipeline import Place, Trace
from passes.report import Undone, Verification, census

if TYPE_CHECKING:
    from passes.optimize import Plan

Feeds = Mapping[str, Value]
RULE_STRIKES = 2
"""A rule found guilty at this many places is left out altogether."""


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


class Verifier:
    """The original's outputs on a few sets of inputs, to hold results against."""

    def __init__(
        self, model: Model, feeds: Feeds | Sequence[Feeds] | None, budget: VerifyBudget, cancel: Cancel | None = None
    ) -> None:
        self.model, self.budget, self.cancel = model, budget, cancel
        self.began = perf_counter()
        self.given = None if feeds is None else [feeds] if isinstance(feeds, Mapping) else list(feeds)
        self.samples: list[tuple[Feeds, dict[str, Value]]] = []
        self.reason = ""
        self.worst = 0.0
        self.kernels = "auto"
        self._session: Session | None = None

    @property
    def session(self) -> Session:
        """The original, ready to run."""
        if self._session is None:
            self._session = Session(self.model, kernels=self.kernels)
        return self._session

    def confirmed(self, problem: str, result: Model, safeties: set[Safety]) -> str:
        """A difference, seen again with the simpler kernels: what only the fast ones show is not the rewrites' doing."""
        if not problem or self.kernels != "auto":
            return problem
        self.kernels, self._session = "numpy", None
        self.samples = [(feeds, self.session.run(feeds)) for feeds, _ in self.samples]
        return self.mismatch(result, safeties)

    def affordable(self) -> bool:
        """Whether original and result can both be run whole."""
        return census(self.model).weight_bytes <= self.budget.memory

    def _late(self) -> bool:
        """The user's cancel, or a run that takes too much of the budget."""
        check(self.cancel, "the verification")
        return perf_counter() - self.began > self.budget.limit / 3

    def prepare(self) -> bool:
        """Run the original; False, with the reason noted, where it cannot be run."""
        if self.given is not None:
            self.samples = [(feeds, self.session.run(feeds)) for feeds in self.given]
            return True
        try:
            made = make_feeds(self.model)
            first = perf_counter()
            self.samples.append((made.feeds, self.session.run(made.feeds, cancel=self._late)))
            if made.sizes and perf_counter() - first < self.budget.limit / 8:
                self._second(made.sizes)
        except Cancelled:
            check(self.cancel, "the verification")
            if not self.samples:
                self.reason = f"a run of the original, with the first compilation of its kernels, took more than {self.budget.limit / 3:.0f} s"
                return False
        except BenchError as error:
            if not self.samples:
                self.reason = f"the original cannot be run: {error.what}"
                return False
        return True

    def _second(self, sizes: Mapping[str, int]) -> None:
        """Other sizes of the open dimensions, as far as the original takes them: each by itself, then all that went well together."""
        taken = dict(sizes)
        best: tuple[Feeds, dict[str, Value]] | None = None
        for name, size in sizes.items():
            for other in (2 * size, size + 1):
                if self._late():
                    break
                found = self._run_with({**taken, name: other})
                if found is not None:
                    taken[name], best = other, found
                    break
        if best is not None:
            self.samples.append(best)

    def _run_with(self, sizes: Mapping[str, int]) -> tuple[Feeds, dict[str, Value]] | None:
        """A run of the original at these sizes; None where it does not take them, which only the original can say."""
        try:
            feeds = make_feeds(self.model, seed=1, dims=sizes, check=False).feeds
            return feeds, self.session.run(feeds, cancel=self._late)
        except Cancelled:
            check(self.cancel, "the verification")
            return None
        except BenchError:
            return None

    # ---- comparing

    def mismatch(self, result: Model, safeties: set[Safety]) -> str:
        """How the result differs from the original, or ""."""
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
        if safeties != {Safety.EXACT}:
            if isinstance(want, np.ndarray) and want.dtype.kind in "iub" and _few(gap, want):
                return ""
            if not gap.mismatches and gap.max_of_range <= 8 * self._sensitivity(name, feeds):
                # the model itself turns rounding into a difference of this size: it proves nothing against the rewrite
                return ""
        if gap.mismatches:
            return f"output {name}: {gap.mismatches} of {gap.elements} elements differ"
        return f"output {name} differs by {gap.max_of_range:.2g} of its range, {allowed:.0e} is allowed"

    def _sensitivity(self, name: str, feeds: Feeds) -> float:
        """How far an output of the original moves when its inputs are changed in their last bits."""
        rng = np.random.default_rng(0)
        moved = {k: _nudged(v, rng) for k, v in feeds.items()}
        wanted = next(outs for given, outs in self.samples if given is feeds)
        try:
            return difference(wanted[name], self.session.run(moved)[name]).max_of_range
        except BenchError:
            return 0.0

    # ---- searching

    def verified(
        self, plan: Plan, source: Model, result: Model, trace: Trace
    ) -> tuple[Model, Trace, list[Undone], Verification]:
        """`result` if it is right, else what is left once the guilty rewrites are out."""
        if not trace.events and source is self.model:
            return result, trace, [], Verification("none", reason="nothing was changed")
        if self.given is None and not self.affordable():
            return self._by_regions(
                plan, source, f"two runs of {census(self.model).weight_bytes >> 20} MiB of weights are over the budget"
            )
        if not self.prepare():
            return self._by_regions(plan, source, self.reason)
        barred: set[Place] = set()
        undone: list[Undone] = []
        strikes: Counter[str] = Counter()
        while True:
            safeties = _safeties(plan, trace)
            problem = self.confirmed(self.mismatch(result, safeties), result, safeties)
            if not problem:
                break
            number = self._guilty(plan, source, len(trace.events), barred)
            if number == 0 and source is self.model:
                reason = f"two runs of the original itself differ: {problem}"
                return result, trace, undone, Verification("none", runs=len(self.samples), reason=reason)
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
        return (
            result,
            trace,
            undone,
            Verification("whole", len(self.samples), worst=self.worst, tolerance=allowed, seconds=seconds),
        )

    def _by_regions(self, plan: Plan, source: Model, reason: str) -> tuple[Model, Trace, list[Undone], Verification]:
        """Run again, looking at both sides of each patch."""
        from passes.regional import RegionalVerifier

        witness = RegionalVerifier()
        result, trace = plan.run(source, witness=witness)
        undone = [Undone(e.rule, e.node, e.sources, why) for e, why in trace.broken]
        seconds = perf_counter() - self.began
        scope = "regions" if witness.seen else "none"
        verdict = Verification(
            scope, regions=witness.seen, of=witness.total, worst=witness.worst, seconds=seconds, reason=reason
        )
        return result, trace, undone, verdict

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


def _without(plan: Plan, rule: str) -> Plan:
    from dataclasses import replace

    return replace(plan, stages=[[r for r in stage if r.id != rule] for stage in plan.stages])


def _safeties(plan: Plan, trace: Trace) -> set[Safety]:
    known: dict[str, Rewrite] = {rule.id: rule for stage in plan.stages for rule in stage}
    return {known[event.rule].safety for event in trace.events} or {Safety.EXACT}


def tolerance(want: Value, safeties: set[Safety]) -> float:
    """What an output may differ by, as a share of its range. Kernels choose algorithms by shape, so no rewrite is held to equal bits here."""
    if not isinstance(want, np.ndarray):
        return 1e-4
    loosest = Safety.APPROXIMATE if Safety.APPROXIMATE in safeties else Safety.ROUNDING
    return loosest.tolerance(want.dtype, whole=True)


def _few(gap: Difference, want: Array) -> bool:
    """Whether so few integers differ that a rounded tie explains it: an argmax, a quantized value."""
    return gap.mismatches <= max(1, want.size // 1000) and want.size > 8


def _nudged(value: Value, rng: np.random.Generator) -> Any:
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    eps = np.finfo(value.dtype).eps
    return (value * (1 + eps * rng.integers(-2, 3, value.shape)).astype(value.dtype)).astype(value.dtype)


__all__ = ["Verifier", "VerifyBudget", "tolerance"]
