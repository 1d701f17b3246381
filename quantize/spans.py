"""The range of each activation, and the nodes for which no range is right."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from exec.ir import Graph, Variable
from quantize.choose import Choice, Chosen
from quantize.findings import Finding
from quantize.numerics import TINY, TYPES, Params, params
from quantize.observers import Histogram, Judged, Observer
from quantize.placement import FIXED_RANGES, READER_FLOORS
from quantize.regions import Region, region_of
from quantize.report import QuantizedTensor

COSTLY_DB = 3.0
"""Of a value's SQNR, that a method may lose beside min-max before it is said."""


@dataclass(frozen=True, slots=True)
class Span:
    """The range chosen for a value, in how many samples it was seen (0: it was given), and what is kept of it, where a histogram says.

    seen     the smallest and the largest value
    picture  a histogram between them
    is_made  whether any sample had an element of it
    """

    low: float
    high: float
    samples: int
    sqnr_db: float | None = None
    seen: tuple[float, float] = (0.0, 0.0)
    picture: tuple[int, ...] = ()
    is_made: bool = True

    def params(self, activations: str) -> Params:
        """Scale and zero point of the range."""
        return params(self.low, self.high, TYPES[activations], symmetric=False)

    def row(self, name: str, activations: str) -> QuantizedTensor:
        """The report's."""
        how = self.params(activations)
        scale, zero = float(how.scale), int(float(how.zero_point))
        return QuantizedTensor(
            name, self.low, self.high, scale, zero, self.samples, self.sqnr_db, self.seen, self.picture
        )

    def is_empty(self, activations: str) -> bool:
        """Whether it has no width: no scale follows from it."""
        kind = TYPES[activations]
        return (max(self.high, 0.0) - min(self.low, 0.0)) / (kind.high - kind.low) < TINY


def given(low: float, high: float) -> Span:
    """A range nobody measured."""
    return Span(float(low), float(high), 0)


def span_of(tensor: Variable, watcher: Observer, activations: str, outputs: Collection[int]) -> Span:
    """The range of a value that was watched: fixed by its operator, or calibrated.

    outputs  ids of the graph's outputs
    """
    low, high = watcher.range()
    if tensor.inputs and tensor.inputs[0].op in FIXED_RANGES and not tensor.inputs[0].domain:
        low, high = FIXED_RANGES[tensor.inputs[0].op]
    floors = {READER_FLOORS.get(n.op, -np.inf) for n in tensor.outputs}
    if id(tensor) not in outputs and len(floors) == 1:
        low = max(low, floors.pop())
    is_made = watcher.seen.elements > 0
    seen = (watcher.seen.low, watcher.seen.high) if is_made else (0.0, 0.0)
    if not isinstance(watcher, Histogram):
        return Span(float(low), float(high), watcher.seen.samples, None, seen, (), is_made)
    kind = TYPES[activations]
    kept = None if kind.is_float else watcher.sqnr_db(low, high, (1 << kind.bits) - 1)
    return Span(float(low), float(high), watcher.seen.samples, kept, seen, watcher.picture(), is_made)


def sentinels(name: str, watcher: Observer) -> Finding | None:
    """A finding when values were left out of the range."""
    if not watcher.seen.sentinels:
        return None
    return Finding(
        "Q012", "note", name, f"{watcher.seen.sentinels:,} infinite or mask values were left out of the range"
    )


def narrow(name: str, watcher: Observer, activations: str) -> Finding | None:
    """A finding when a method's range keeps `COSTLY_DB` less of the values than the whole would; "auto" looks at what readers make of them instead."""
    kind = TYPES[activations]
    if kind.is_float or not isinstance(watcher, Histogram) or isinstance(watcher, Judged) or not watcher.seen.elements:
        return None
    levels = (1 << kind.bits) - 1
    (low, high), seen = watcher.range(), (watcher.seen.low, watcher.seen.high)
    kept, whole = watcher.sqnr_db(low, high, levels), watcher.sqnr_db(*seen, levels)
    if kept is None or whole is None or whole - kept < COSTLY_DB:
        return None
    text = f"[{low:.3g}, {high:.3g}] of [{seen[0]:.3g}, {seen[1]:.3g}] keeps {kept:.1f} dB of its values, all of it would keep {whole:.1f} dB"
    return Finding("Q015", "warning", name, text, "--method auto or minmax")


def without_empty(
    graph: Graph, chosen: Chosen, region: Region, spans: dict[str, Span], joining: Collection[str], activations: str, *, every: bool
) -> tuple[Chosen, list[Finding]]:  # fmt: skip
    """The choice without the nodes that read or make a value of no range: any scale may be wrong for what live data brings there.

    spans  gets the ranges of values that are read anew by what is left
    every  whether all that can be quantized was watched, not only what pays
    """
    empty = {n: s for n, s in spans.items() if s.is_empty(activations)}
    if not empty:
        return chosen, []
    watched = chosen.possible if every else chosen.taken
    ranges = {c.node.name: _ranges_of(c, region) & empty.keys() for c in watched}
    joined = {n.name: {n.outputs[0].name} & empty.keys() for n in region.joined}
    gone = {n for n, of in ranges.items() if of}
    found = [_finding(n, s, [m for m, of in (*ranges.items(), *joined.items()) if n in of]) for n, s in empty.items()]
    rest = replace(
        chosen, possible=tuple(c for c in chosen.possible if c.node.name not in gone), taken=tuple(c for c in chosen.taken if c.node.name not in gone),
        left=chosen.left | {n for n, of in joined.items() if of},
    )  # fmt: skip
    left = region_of(graph, rest.possible if every else rest.taken, joining, rest.left)
    for name in left.values:
        if name not in spans:
            spans[name] = spans[region.scales[name]]
    return rest, found


def _ranges_of(choice: Choice, region: Region) -> set[str]:
    """Names of the values whose ranges a node is quantized with."""
    source = choice.source.name
    made = () if choice.made is None else (choice.made.name,)
    return {source, region.scales.get(source, source), *made}


def _finding(name: str, span: Span, nodes: list[str]) -> Finding:
    who = ", ".join(f"'{n}'" for n in nodes[:3]) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")
    stay = f"; {who} stay{'s' * (len(nodes) == 1)} float" if nodes else ""
    hint = "calibrate with inputs that reach it, or give its range with --ranges"
    if not span.is_made:
        return Finding("Q013", "warning", name, f"no sample made this value{stay}", hint)
    if not span.samples:
        return Finding("Q010", "warning", name, f"the range given for it is [{span.low:g}, {span.high:g}]{stay}", hint)
    said = (
        "it was 0 in every sample"
        if span.seen == (0.0, 0.0)
        else f"nothing of [{span.seen[0]:.3g}, {span.seen[1]:.3g}] is left to its readers"
    )
    return Finding("Q010", "warning", name, f"{said}: no scale is known to be right for other data{stay}", hint)
