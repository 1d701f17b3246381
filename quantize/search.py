"""The best mix of float and 8 bits that reaches a target: orderings of nodes, judged prefix by prefix, the best always kept.

Noises of single nodes nearly add up, so an order by noise per gain has its good mixes among its prefixes. The preset's own choice
without its noisiest nodes is a second order: on recognisers it wins. A search can be stopped at any time; what it found so far counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from exec.errors import Cancelled, OptionError
from exec.ir import Model
from exec.progress import Cancel, Progress, report
from quantize.choose import Choice
from quantize.filling import converted
from quantize.latency import Stopwatch, engine_name
from quantize.placement import JOINED
from quantize.quality import Judge
from quantize.report import SearchPoint
from quantize.sensitivity import NodeSensitivity, ranked
from quantize.static import Built, Measured, build

Metric = Callable[[Model], float]
MARGIN_DB = 0.5  # above the target: samples nobody looked at are a little worse than those that were searched with
RANKED_BY = 2  # samples: enough for an order
CONVERSION = (
    48.0  # multiply-adds that take as long as one element's conversion to 8 bits or back (measured, AVX512-VNNI)
)
MOST_REMOVED, LOOKED_AT = (
    32,
    12,
)  # nodes taken out of the preset's choice one by one; the noisiest that are compared at each step
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
    _built: Built | None = None

    def run(self) -> Searched:
        """Search until the orders are through, the time is up or the user stops; the best is kept all along."""
        stopped = ""
        everything = self.measured.options.preset == "full"
        gains = {c.node.name: float(c.macs) if everything else gain_of(c) for c in self.measured.chosen.possible}
        default = [c.node.name for c in self.measured.chosen.taken]
        try:
            self._prepare()
            if self._try(default) and default and self.target.latency is None:
                return self._result("")
            useful = {n for n, g in gains.items() if g > 0} | set(default)
            few = replace(self.judge, samples=self.judge.samples[:RANKED_BY], expected=self.judge.expected[:RANKED_BY])
            nodes = ranked(
                self._only(useful),
                few,
                enough=self._half_over,
                earliest=True,
                progress=self.progress,
                cancel=self._stop,
            )
            noise = noises(nodes, [*useful])
            for order in (self._thinned(noise, default), *orders(noise, gains, default)):
                self._bisect(order)
        except Cancelled:
            stopped = "stopped" if self.cancel is not None and self.cancel() else f"after {self.target.seconds:.0f} s"
            if not self.points:
                raise
        return self._result(stopped)

    def _saved(self, names: Iterable[str]) -> float:
        """What a mix saves, in multiply-adds: those in 8 bits less what the conversions between float and 8 bits cost."""
        measured, wanted = self.measured, set(names)
        chosen = [c for c in measured.chosen.possible if c.node.name in wanted]
        joining = JOINED[measured.options.preset]
        moved = converted(measured.model.graph, chosen, measured.shapes, joining, measured.chosen.left)
        return sum(c.macs for c in chosen) - CONVERSION * moved

    def _thinned(self, noise: Mapping[str, float], default: Sequence[str]) -> list[str]:
        """The preset's nodes, those last whose noise is largest for what they save where they lie: between 8-bit nodes, or at a border."""
        left = list(default)
        removed: list[str] = []
        while len(left) > 1 and len(removed) < MOST_REMOVED and not self._stop():
            now = self._saved(left)
            noisiest = sorted(left, key=lambda n: -noise[n])[:LOOKED_AT]
            lost = {n: max(now - self._saved([k for k in left if k != n]), 1.0) for n in noisiest}
            worst = max(noisiest, key=lambda n: noise[n] / lost[n])
            left.remove(worst)
            removed.append(worst)
        return [*left, *reversed(removed)]

    def _only(self, names: set[str]) -> Measured:
        chosen = self.measured.chosen
        return replace(
            self.measured, chosen=replace(chosen, possible=tuple(c for c in chosen.possible if c.node.name in names))
        )

    def _prepare(self) -> None:
        target, model = self.target, self.measured.model
        if target.metric is not None:
            self._goal = target.least if target.least is not None else float(target.metric(model)) - target.drop
        elif target.latency is not None:
            self._watch = Stopwatch(model, self.judge.samples[0])
            self._goal = target.latency
        else:
            self._goal = (target.db or 0.0) + MARGIN_DB

    def _stop(self) -> bool:
        return perf_counter() - self.began > self.target.seconds or (self.cancel is not None and self.cancel())

    def _half_over(self) -> bool:
        return perf_counter() - self.began > self.target.seconds / 2

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
        report(self.progress, len(self.points), 0, f"trying {len(key)} nodes in 8 bits")
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
            return (self._saved(new.nodes), new.db) > (self._saved(old.nodes), old.db)
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
        judged: list[tuple[float, SearchPoint]] = []
        for point in candidates:
            held = (
                point.db
                if self.held is None
                else self.held.sqnr_db(build(self.measured, point.nodes, halves=False).model)
            )
            if min(held, point.db) >= self._goal:
                return point, True
            judged.append((held, point))
        db, best = max(judged, key=lambda pair: pair[0])
        return best, min(db, best.db) >= wanted

    def _by_time(self, points: Sequence[SearchPoint]) -> list[SearchPoint]:
        """Mixes, the fastest first: by what they save in multiply-adds, those that save most as measured.

        One float node between two in 8 bits can cost more than it spares: only the clock tells. Without onnxruntime there is no such clock.
        """
        order = sorted(points, key=lambda p: -self._saved(p.nodes))
        if engine_name() != "onnxruntime" or len(order) < 2:
            return order
        watch = Stopwatch(self.measured.model, self.judge.samples[0])
        until = max(perf_counter(), self.began + self.target.seconds) + TIMING_SECONDS
        timed: list[SearchPoint] = []
        for point in order[:MOST_TIMED]:
            if timed and perf_counter() > until:
                break
            report(self.progress, len(timed), MOST_TIMED, f"timing {len(point.nodes)} nodes in 8 bits")
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


def noises(nodes: Sequence[NodeSensitivity], names: Sequence[str]) -> dict[str, float]:
    """Noise by name; a node there was no time to look at is taken for one of the quieter ones: those looked at first lie nearer to the input."""
    found = {n.name: n.noise for n in nodes}
    guess = float(np.quantile(list(found.values()), 0.25)) if found else 0.0
    return {name: found.get(name, guess) for name in names}


def orders(noise: Mapping[str, float], gains: Mapping[str, float], default: Sequence[str]) -> list[list[str]]:
    """Nodes in the order they are taken in: by noise per gain, and the preset's by noise alone."""
    useful = [n for n in noise if gains[n] > 0]
    taken = [n for n in default if n in noise]
    by_ratio = sorted(useful, key=lambda n: noise[n] / gains[n])
    by_noise = sorted(taken, key=lambda n: noise[n])
    return [by_ratio, by_noise] if taken else [by_ratio]
