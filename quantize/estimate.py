"""What a mix of float and 8 bits costs, told without building it: noise and time are sums over what is in 8 bits.

Noise belongs to values and weights, not to nodes: between two nodes in 8 bits a third adds the noise of its weight only.
Time belongs to nodes and to conversions: taken from three profiles in the target's runtime, or from multiply-adds where there is none.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from exec.arrays import Value
from exec.ir import Model, Node
from exec.progress import Cancel, Progress, check, report
from quantize.choose import Choice
from quantize.filling import integers_of
from quantize.latency import engine_name
from quantize.placement import JOINED
from quantize.probing import Prober, blurring, groups_of, place_of, rounding, values_of
from quantize.quality import Judge
from quantize.report import OutputQuality
from quantize.static import Measured, build
from quantize.timing import profile

CONVERSION = 48.0
"""Multiply-adds that take as long as one element's conversion to 8 bits or back (measured, AVX512-VNNI)."""

TRIED = 3
"""Groups of values after which it is clear how long all of them will take."""

Noise = tuple[float, ...]


@dataclass
class Estimate:
    """Noise and time of mixes of one measured model.

    values   noise over signal at each output, by value in 8 bits
    weights  the same by node with a rounded weight
    before, after   ns by node, in float and in 8 bits; without them multiply-adds count
    conversion  ns an element
    scale    how much more noise the preset's choice made than its sum said
    """

    measured: Measured
    values: dict[str, Noise] = field(default_factory=dict)
    weights: dict[str, Noise] = field(default_factory=dict)
    before: dict[str, float] = field(default_factory=dict)
    after: dict[str, float] = field(default_factory=dict)
    conversion: float = 0.0
    scale: float = 1.0
    _known: dict[frozenset[str], tuple[float, float]] = field(default_factory=dict)

    def of(self, names: Iterable[str]) -> tuple[float, float]:
        """(noise over signal of the worst output, time) of a mix; time in ns, or in multiply-adds."""
        key = frozenset(names)
        if key not in self._known:
            chosen = [c for c in self.measured.chosen.possible if c.node.name in key]
            self._known[key] = self._noise(chosen), self._time(chosen)
        return self._known[key]

    def forget(self) -> None:
        """What was said before does not hold any more."""
        self._known.clear()

    def _noise(self, chosen: Sequence[Choice]) -> float:
        parts = [self.values[n] for n in values_of(self.measured, chosen) if n in self.values]
        parts += [self.weights[c.node.name] for c in chosen if c.node.name in self.weights]
        return self.scale * max((sum(column) for column in zip(*parts, strict=True)), default=0.0)

    def _time(self, chosen: Sequence[Choice]) -> float:
        measured = self.measured
        found = integers_of(
            measured.model.graph, chosen, measured.shapes, JOINED[measured.options.preset], measured.chosen.left
        )
        if not self.before:
            return -sum(c.macs for c in chosen) + CONVERSION * found.converted
        total = self.conversion * found.converted
        for node in measured.model.graph.nodes:
            in_float = self.before.get(node.name, 0.0)
            if id(node) in found.nodes:
                total += self.after.get(node.name, in_float)
            else:
                total += in_float or self._torn(node, found.nodes)
        return total

    def _torn(self, node: Node, integer: Collection[int]) -> float:
        """What a node takes that was part of its reader, and is not behind a conversion: a Sigmoid of x·Sigmoid(x)."""
        makers = [n for t in node.inputs for n in t.inputs]
        if not any(id(n) in integer for n in makers):
            return 0.0
        return sum(self.before.get(n.name, 0.0) for t in node.outputs for n in t.outputs)


def listen(
    estimate: Estimate, judge: Judge, until: float, *, progress: Progress | None = None, cancel: Cancel | None = None
) -> None:
    """Fill in the noise of values and of weights: each group of values that go together in one pass over the samples.

    until  on the clock of `perf_counter`; values nobody looked at until then are taken for quiet ones: they are nearest to the outputs
    """
    measured = estimate.measured
    prober, activations = Prober(measured, judge), measured.options.activations
    groups = groups_of(measured)
    kept: dict[str, float] = {}
    began = perf_counter()
    for number, (leader, values) in enumerate(groups.items()):
        check(cancel, "the sensitivity analysis")
        if number and perf_counter() > until:
            break
        if number == TRIED and began + (perf_counter() - began) / TRIED * len(groups) > until:
            prober.judge = judge.first(1)  # a rough word on every value is worth more than an exact one on half of them
        report(progress, number, len(groups), leader)
        changes = {place_of(t).name: rounding(measured.spans[n], activations) for n, t in values.items()}
        outputs, kept[leader] = prober.outputs(changes)
        estimate.values[leader] = noise_at(outputs)
    if estimate.values:
        quiet = tuple(float(np.quantile(column, 0.25)) for column in zip(*estimate.values.values(), strict=True))
        estimate.values.update({n: quiet for n in groups if n not in estimate.values})
    for choice, weight_db in _weights(measured):
        check(cancel, "the sensitivity analysis")
        made = None if choice.made is None else choice.made.name
        if made in kept and math.isfinite(kept[made]):
            gain = 10.0 ** ((kept[made] - weight_db) / 10.0)
            estimate.weights[choice.node.name] = tuple(gain * n for n in estimate.values[made])
        elif perf_counter() < until:
            outputs, _ = prober.outputs({place_of(choice.node.outputs[0]).name: blurring(weight_db)})
            estimate.weights[choice.node.name] = noise_at(outputs)


def _weights(measured: Measured) -> list[tuple[Choice, float]]:
    """Each node that can be in 8 bits with the SQNR of its weight, rounded to nearest."""
    nearest = replace(measured, options=replace(measured.options, rounding="nearest"), rounded={})
    exact = {n.name: n.weight_sqnr_db for n in build(nearest, {c.node.name for c in measured.chosen.possible}).nodes}
    return [(c, exact[c.node.name]) for c in measured.chosen.possible if c.node.name in exact]


def noise_at(outputs: Sequence[OutputQuality]) -> Noise:
    """Noise over signal at each output; an output that is worthless counts as a thousand times its signal."""
    return tuple(min(10.0 ** (-max(o.sqnr_db, -30.0) / 10.0), 1e3) for o in outputs)


def time(estimate: Estimate, default: Collection[str], everything: Collection[str], feeds: Mapping[str, Value]) -> None:
    """Fill in what nodes and conversions take, measured in the runtime that computes on integers; without it nothing."""
    if engine_name(estimate.measured.model) != "onnxruntime":
        return
    measured = estimate.measured
    known = {n.name for n in measured.model.graph.nodes}
    before, _ = _times(measured.model, feeds, known)
    spent, elements = 0.0, 0
    after: dict[str, float] = {}
    for names in (everything, default):
        chosen = [c for c in measured.chosen.possible if c.node.name in set(names)]
        found = integers_of(
            measured.model.graph, chosen, measured.shapes, JOINED[measured.options.preset], measured.chosen.left
        )
        times, conversions = _times(build(measured, names, halves=False).model, feeds, known)
        inside = {n.name for n in measured.model.graph.nodes if id(n) in found.nodes}
        after.update({n: t for n, t in times.items() if n in inside})
        spent, elements = spent + conversions, elements + found.converted
    estimate.before, estimate.after = before, after
    estimate.conversion = spent / max(elements, 1)
    estimate.forget()


def _times(model: Model, feeds: Mapping[str, Value], known: Collection[str]) -> tuple[dict[str, float], float]:
    """ns by node of the float model, and of all that is none of its nodes: conversions, and reordering of channels."""
    found: dict[str, float] = {}
    other = 0.0
    for row in profile(model, feeds).nodes:
        if row.name in known:
            found[row.name] = found.get(row.name, 0.0) + row.median_ns
        else:
            other += row.median_ns
    return found, other
