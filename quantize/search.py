"""The best mix of float and 8 bits that reaches a target: from the preset's choice, node by node, the best always kept.

What a mix costs is estimated (`quantize.estimate`), so that thousands are looked at; those that are best for one exchange rate of noise
against time are built and judged, and the rate is bisected. The preset's choice without its noisiest nodes is a second way: on recognisers
it wins. The preset's choice is the first mix judged: nothing that loses to it can be the result. A search can be stopped at any time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from exec.errors import Cancelled, OptionError
from exec.ir import Model
from exec.progress import Cancel, Progress, report
from exec.wording import counted
from quantize.choose import Choice
from quantize.estimate import Estimate, listen, time
from quantize.latency import Stopwatch, engine_name
from quantize.quality import Judge
from quantize.report import SearchPoint
from quantize.static import Built, Measured, build

Metric = Callable[[Model], float]
MARGIN_DB = 0.25  # above the target, over all samples kept: those nobody looked at are a little worse
RANKED_BY = 2  # samples: enough for an order
RATES, STEPS = (-8.0, 10.0), 8  # powers of two between which the rate of noise against time is bisected, and how often
TURNS = 3  # times all nodes are looked at for one rate
LISTENED = 0.55  # share of the seconds after which no further value is looked at
MOST_TIMED, TIMING_SECONDS = 8, 8.0  # mixes that are timed before one is chosen, and for how long
BREAK_EVEN = 24.0  # multiply-adds per element moved at which int8 neither saves nor costs time (measured, AVX512-VNNI)


@dataclass(frozen=True, slots=True)
class Target:
    """What a search is to reach; one of the first three.

    db       SQNR of the worst output (before a last Softmax), with as few multiply-adds in float as possible
    metric   a function of the model, larger is better: at most `drop` below the float model's, or at least `least`
    latency  time as a share of the float model's, with as little noise as possible; measured in onnxruntime where it is installed
    seconds  after which the best found so far is taken; the calibration counts, choosing among what was found comes on top
    """

    db: float | None = None
    metric: Metric | None = None
    latency: float | None = None
    drop: float = 0.005
    least: float | None = None
    seconds: float = 36.0


def target_of(given: Any) -> Target:
    """A number is dB, a function is a metric."""
    if isinstance(given, Target):
        found = given
    elif isinstance(given, (int, float)) and not isinstance(given, bool):
        found = Target(db=float(given))
    elif callable(given):
        found = Target(metric=given)
    else:
        raise OptionError(
            f"a target of type {type(given).__name__}",
            hint="a number of dB, a function of the model, or quantize.search.Target",
        )
    if sum(v is not None for v in (found.db, found.metric, found.latency)) != 1:
        raise OptionError("a target names one of db, metric and latency")
    return found


@dataclass
class Searched:
    """The best mix.

    reached  whether it meets the target
    points   everything that was tried, in order
    """

    built: Built
    names: frozenset[str]
    reached: bool
    points: tuple[SearchPoint, ...]
    stopped: str = ""


@dataclass
class Search:
    """One search over a measured model.

    judge  of the samples that are searched with
    held   of samples that are not: a mix counts when it holds there too
    began  when the clock of the target's seconds started: the calibration before counts
    """

    measured: Measured
    judge: Judge
    target: Target
    held: Judge | None = None
    progress: Progress | None = None
    cancel: Cancel | None = None
    began: float = field(default_factory=perf_counter)
    points: list[SearchPoint] = field(default_factory=list)
    best: SearchPoint | None = None
    _goal: float = 0.0
    _watch: Stopwatch | None = None
    _order: list[str] = field(default_factory=list)
    _known: dict[tuple[str, ...], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.estimate = Estimate(self.measured)

    def run(self) -> Searched:
        """Search until the orders are through, the time is up or the user stops; the best is kept all along."""
        stopped = ""
        default = [c.node.name for c in self.measured.chosen.taken]
        try:
            self._prepare()
            if self._try(default) and default and self.target.latency is None and self._holds(self.points[0]):
                return self._result("")
            self._listen(default)
            self._rates(default)
            self._bisect(self._by_noise(default))
        except Cancelled:
            stopped = "stopped" if self.cancel is not None and self.cancel() else f"after {self.target.seconds:.0f} s"
            if not self.points:
                raise
        return self._result(stopped)

    def _listen(self, default: Sequence[str]) -> None:
        """Fill in the estimate: noise of values and weights, time of nodes and conversions."""
        estimate, possible = self.estimate, self.measured.chosen.possible
        until = self.began + LISTENED * self.target.seconds
        listen(estimate, self.judge.first(RANKED_BY), until, progress=self.progress, cancel=self._stop)
        if self.measured.options.preset != "full":  # it means everything, whatever it gains
            time(estimate, default, self._useful(default), self.judge.samples[0])
        said, _ = estimate.of(default)
        if said and default:
            estimate.scale = 10.0 ** (-max(self.points[0].db, -30.0) / 10.0) / said
            estimate.forget()
        self._order = [c.node.name for c in possible if c.node.name in self._useful(default)]

    def _useful(self, default: Sequence[str]) -> set[str]:
        """Nodes that may save time in 8 bits."""
        if self.measured.options.preset == "full":
            return {c.node.name for c in self.measured.chosen.possible}
        return {c.node.name for c in self.measured.chosen.possible if gain_of(c) > 0} | set(default)

    def _rates(self, default: Sequence[str]) -> None:
        """Bisect the rate of noise against time: the smallest that is quiet enough, for a latency the largest that is fast enough."""
        low, high = RATES
        for _ in range(STEPS):
            middle = (low + high) / 2
            met = self._try(self._best_for(2.0**middle, default))
            if met == (self.target.latency is None):
                high = middle
            else:
                low = middle

    def _best_for(self, rate: float, default: Sequence[str]) -> frozenset[str]:
        """From the preset's choice by single nodes, and by two neighbours, as long as time + rate · noise falls."""
        noise_of, time_of = self.estimate.of(default)
        per_noise, per_time = rate / (noise_of or 1.0), 1.0 / (abs(time_of) or 1.0)

        def cost(names: frozenset[str]) -> float:
            noise, spent = self.estimate.of(names)
            return per_noise * noise + per_time * spent

        now = frozenset(default)
        least = cost(now)
        for _ in range(TURNS):
            before = now
            for first, second in zip(self._order, [*self._order[1:], ""], strict=True):
                if self._stop():
                    return now
                for turned in ({first}, {first, second} - {""}):
                    other = now ^ turned
                    spent = cost(other)
                    if spent < least:
                        now, least = other, spent
                        break
            if now == before:
                break
        return now

    def _by_noise(self, default: Sequence[str]) -> list[str]:
        """The preset's nodes, those last without which it is quietest."""
        whole = frozenset(default)
        return sorted(default, key=lambda n: -self.estimate.of(whole - {n})[0])

    def _prepare(self) -> None:
        target, model = self.target, self.measured.model
        if target.metric is not None:
            self._goal = target.least if target.least is not None else float(target.metric(model)) - target.drop
        elif target.latency is not None:
            self._watch = Stopwatch(model, self.judge.samples[0])
            self._goal = target.latency
        else:
            self._goal = target.db or 0.0

    def _stop(self) -> bool:
        return perf_counter() - self.began > self.target.seconds or (self.cancel is not None and self.cancel())

    def _bisect(self, order: Sequence[str]) -> None:
        """Find the longest prefix that is good enough (for a latency: the shortest that is fast enough)."""
        low, high = 0, len(order)
        while low < high:
            middle = (low + high + 1) // 2 if self.target.latency is None else (low + high) // 2
            if middle == 0:
                break
            met = self._try(order[:middle])
            if self.target.latency is None:
                low, high = (middle, high) if met else (low, middle - 1)
            else:
                low, high = (low, middle) if met else (middle + 1, high)

    def _try(self, names: Iterable[str]) -> bool:
        """Build and judge one mix; whether it meets the target."""
        key = frozenset(names)
        known = next((p for p in self.points if frozenset(p.nodes) == key), None)
        if known is not None:
            return known.met
        if self._stop() and self.points:
            raise Cancelled("the search was stopped")
        report(self.progress, len(self.points), 0, f"trying {counted(len(key), 'node')} in 8 bits")
        built = build(self.measured, key, halves=False)
        db = self.judge.sqnr_db(built.model)
        macs = sum(n.macs for n in built.nodes)
        metric = None if self.target.metric is None else float(self.target.metric(built.model))
        latency = None if self._watch is None else self._watch.ratio(built.model)
        met = self._meets(db, metric, latency)
        point = SearchPoint(tuple(sorted(key)), db, macs, metric, latency, met)
        self.points.append(point)
        if self.best is None or self._better(point, self.best):
            self.best = point
        return met

    def _meets(self, db: float, metric: float | None, latency: float | None) -> bool:
        if metric is not None:
            return metric >= self._goal
        return latency <= self._goal if latency is not None else db >= self._goal

    def _better(self, new: SearchPoint, old: SearchPoint) -> bool:
        if new.met != old.met:
            return new.met
        if self.target.latency is not None:
            return new.db > old.db if new.met else (new.latency or math.inf) < (old.latency or math.inf)
        if new.met:
            return self.estimate.of(new.nodes)[1] < self.estimate.of(old.nodes)[1]
        return (new.metric or 0.0, new.db) > (old.metric or 0.0, old.db)

    def _result(self, stopped: str) -> Searched:
        assert self.best is not None
        best, reached = self.best, self.best.met
        if self.target.db is not None:
            best, reached = self._holding(self.target.db)
        names = frozenset(best.nodes)
        return Searched(build(self.measured, names), names, reached, tuple(self.points), stopped)

    def _holding(self, wanted: float) -> tuple[SearchPoint, bool]:
        """The fastest mix that meets the target on the held-back samples too; else the best there."""
        assert self.best is not None
        candidates = self._by_time([p for p in self.points if p.met]) or [self.best]
        for point in candidates:
            if self._holds(point):
                return point, True
        best = max(candidates, key=self._pooled)
        return best, best.met and self._pooled(best) >= wanted

    def _holds(self, point: SearchPoint) -> bool:
        """Whether a mix that meets the target does so with a margin over all samples kept."""
        return self.target.db is None or self._pooled(point) >= self.target.db + MARGIN_DB

    def _pooled(self, point: SearchPoint) -> float:
        """SQNR over the samples searched with and those held back, as if they were of one strength."""
        if self.held is None:
            return point.db
        if point.nodes not in self._known:
            held = self.held.sqnr_db(build(self.measured, point.nodes, halves=False).model)
            few, many = len(self.judge.samples), len(self.held.samples)
            noise = (few * 10.0 ** (-point.db / 10.0) + many * 10.0 ** (-held / 10.0)) / (few + many)
            self._known[point.nodes] = -10.0 * math.log10(noise) if noise else math.inf
        return self._known[point.nodes]

    def _by_time(self, points: Sequence[SearchPoint]) -> list[SearchPoint]:
        """Mixes, the fastest first: by the estimate, those that it finds fastest as measured.

        One float node between two in 8 bits can cost more than it spares: only the clock tells. Without onnxruntime there is no such clock.
        """
        order = sorted(points, key=lambda p: self.estimate.of(p.nodes)[1])
        if engine_name(self.measured.model) != "onnxruntime" or len(order) < 2:
            return order
        watch = Stopwatch(self.measured.model, self.judge.samples[0])
        until = max(perf_counter(), self.began + self.target.seconds) + TIMING_SECONDS
        timed: list[SearchPoint] = []
        for point in order[:MOST_TIMED]:
            if timed and perf_counter() > until:
                break
            report(self.progress, len(timed), MOST_TIMED, f"timing {counted(len(point.nodes), 'node')} in 8 bits")
            ratio = watch.ratio(build(self.measured, point.nodes, halves=False).model)
            timed.append(replace(point, latency=ratio))
            self.points[self.points.index(point)] = timed[-1]
        return [*sorted(timed, key=lambda p: p.latency or math.inf), *order[len(timed) :]]


def gain_of(choice: Choice) -> float:
    """What 8 bits save, in multiply-adds: those of the node less what its conversions cost; nothing where there is no kernel."""
    node, weight = choice.node, choice.layer.weight
    if node.op == "ConvTranspose" or not choice.intensity:
        return 0.0
    if node.op == "Conv" and (weight.shape[1] <= 4 or (int(node.attrs.get("group", 1)) > 1 and weight.shape[1] == 1)):
        return 0.0
    return choice.macs * (1.0 - BREAK_EVEN / choice.intensity)
