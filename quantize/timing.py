"""Time before and after, node by node: what 8 bits save, and what their conversions cost."""

from __future__ import annotations

from collections.abc import Mapping

from exec.arrays import Value
from exec.engines import open_engine
from exec.ir import Model
from exec.timing import Profile
from quantize.latency import Stopwatch, engine_name
from quantize.report import NodeTiming, Timing

RUNS, SECONDS = 15, 2.0


def timing(original: Model, optimized: Model, result: Model, feeds: Mapping[str, Value]) -> Timing:
    """Measure all three on one thread: whole runs in turns, then every node."""
    watch = Stopwatch(optimized, feeds)
    of_optimized = watch.ratio(result)
    to_original = watch.ratio(original)
    before, after = profile(optimized, feeds), profile(result, feeds)
    return Timing(watch.engine, of_optimized / to_original, of_optimized, before.wall_ns / 1e6, _nodes(before, after))


def profile(model: Model, feeds: Mapping[str, Value]) -> Profile:
    """Every node's time on one thread."""
    return open_engine(model, engine_name(model), threads=1).measure(feeds, RUNS, seconds=SECONDS)


def _nodes(before: Profile, after: Profile) -> tuple[NodeTiming, ...]:
    """Nodes of both by name, those that changed most first."""
    old = {n.name: n for n in before.nodes if n.name}
    new = {n.name: n for n in after.nodes if n.name}
    rows = [
        NodeTiming(
            name,
            (new.get(name) or old[name]).op,
            old[name].median_ns if name in old else None,
            new[name].median_ns if name in new else None,
        )
        for name in dict.fromkeys((*old, *new))
    ]
    return tuple(sorted(rows, key=lambda r: -abs((r.before_ns or 0) - (r.after_ns or 0))))
