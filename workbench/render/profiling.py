"""A `Profile` as tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from exec.timing import NodeTime, Profile
from exec.wording import counted
from workbench.criticalpath import saved_by
from workbench.render import units
from workbench.render.github import annotation
from workbench.render.table import Column, Table
from workbench.slowdown import Slowdown
from workbench.timescopes import time_scopes

if TYPE_CHECKING:
    from workbench.criticalpath import Critical
    from workbench.lookup import Lookup

_MOST = 25


def profile_tables(
    result: Profile, by: str = "node", *, whole: bool = False, modules: Mapping[str, str] | None = None
) -> list[Table]:
    """Time by node, operator or scope, slowest first.

    modules  node name → module, as an exporter recorded it
    """
    if by == "memory":
        return [memory_table(result, whole=whole)]
    if by == "op":
        return [_grouped(result, "operator", [n.op for n in result.nodes])]
    if by == "scope":
        return [_grouped(result, "scope", *time_scopes(result.nodes, modules, whole=whole))]
    return [_nodes(result, whole)]


def _nodes(result: Profile, whole: bool) -> Table:
    columns = (
        Column("name", "node", "name"), Column("op", "operator", "name"), Column("shapes", "output", "name", spare=4), Column("median_ns", "median", "ns"),
        Column("p95_ns", "p95", "ns", spare=5), Column("share", "share", "percent"), Column("cumulative", "cum", "percent", spare=6),
        Column("macs", "MACs", "count", spare=3),
        Column("rate", "GFLOP/s", "number"), Column("roofline", "limit", spare=1), Column("kernel", "kernel", spare=2),
    )  # fmt: skip
    ordered = sorted(result.nodes, key=lambda n: -n.median_ns)
    shown = ordered if whole else ordered[:_MOST]
    total = sum(n.median_ns for n in ordered) or 1
    rows, running = [], 0.0
    for n in shown:
        running += n.median_ns
        rate = n.flops / n.median_ns if n.flops and n.median_ns else None
        rows.append(
            (n.name or f"{n.op}#{n.index}", n.op, " ".join(n.shapes), n.median_ns, n.p95_ns, n.share, running / total, n.macs,
             None if rate is None else round(rate, 1), n.roofline, n.kernel + ("*" if n.shared else "")),
        )  # fmt: skip
    left = (
        f"{counted(len(ordered) - len(shown), 'more node')}, {units.percent(1 - running / total)} of the time (--all lists them). "
        if len(shown) < len(ordered)
        else ""
    )
    shared = " * shares a step with others: its part by cost." if any(n.shared for n in shown) else ""
    return Table("", columns, tuple(rows), left + verdict(result) + shared, _notes(result))


def path_table(
    lookup: Lookup, critical: Critical, result: Profile, *, whole: bool = False
) -> tuple[dict[str, Any], Table]:
    """The longest path through the times, the slowest of its nodes first, and what each would save if it cost nothing."""
    table = lookup.table
    ordered = sorted(critical.path, key=lambda r: -(table.time_ns[r] or 0.0))
    shown = ordered if whole else ordered[:_MOST]
    saved = saved_by(lookup, shown[:_MOST])
    rows = tuple(
        (table.label(r), table.op[r], table.time_ns[r], (table.time_ns[r] or 0.0) / (critical.length_ns or 1.0), saved.get(r))
        for r in shown
    )  # fmt: skip
    columns = (
        Column("name", "node", "name"), Column("op", "operator", "name", spare=1), Column("median_ns", "median", "ns"), Column("share", "of the path", "percent"),
        Column("saved_ns", "saves if free", "ns"),
    )  # fmt: skip
    spare = sorted((ns for r, ns in critical.slack_ns.items() if r not in set(critical.path) and table.time_ns[r]))
    left = f" {len(ordered) - len(shown):,} more on it (--all lists them)." if len(ordered) > len(shown) else ""
    beside = f" {len(spare):,} timed nodes beside it could take {units.duration(spare[0])} to {units.duration(spare[-1])} longer each." if spare else ""  # fmt: skip
    caption = (
        f"The longest path, if every branch could run at once: {len(critical.path):,} of {counted(len(critical.slack_ns), 'node')}, "
        f"{units.duration(critical.length_ns)} of {units.duration(critical.total_ns)}.{left}{beside}"
    )
    answer = {
        "length_ns": critical.length_ns,
        "total_ns": critical.total_ns,
        "path": [{"name": table.label(r), "op": table.op[r], "median_ns": table.time_ns[r], "saved_ns": saved.get(r)} for r in critical.path],
        "slack": [{"name": table.label(r), "op": table.op[r], "slack_ns": ns} for r, ns in critical.slack_ns.items()],
    }  # fmt: skip
    return answer, Table("", columns, rows, caption, _notes(result))


def memory_table(result: Profile, *, whole: bool = False) -> Table:
    """Memory of values along the run, in its order; without `whole` where it is highest."""
    known = list(enumerate(result.nodes)) if result.peak_bytes is not None else []
    highest = max((n.live_bytes for _, n in known), default=0) or 1
    first = sorted(known, key=lambda item: -item[1].live_bytes)[:_MOST]
    chosen = known if whole else sorted(first, key=lambda item: item[0])
    columns = (
        Column("step", "step", "count"), Column("name", "node", "name"), Column("op", "operator", "name", spare=1), Column("live_bytes", "alive", "bytes"),
        Column("bar", ""),
    )  # fmt: skip
    rows = tuple(
        (k, n.name or f"{n.op}#{n.index}", n.op, n.live_bytes, "█" * round(20 * n.live_bytes / highest))
        for k, n in chosen
    )
    left = f"{counted(len(known) - len(rows), 'step')} with less (--all lists them). " if len(rows) < len(known) else ""
    return Table("", columns, rows, f"{left}In all: {_memory(result)}.", _notes(result))


def _notes(result: Profile) -> tuple[str, ...]:
    """Remarks above the verdict, which says itself that the machine was busy."""
    return tuple(note for note in result.notes if note != result.noise.reason)


def _grouped(result: Profile, title: str, keys: Sequence[str], how: str = "") -> Table:
    groups: dict[str, list[NodeTime]] = defaultdict(list)
    for key, node in zip(keys, result.nodes, strict=True):
        groups[key].append(node)
    total = sum(n.median_ns for n in result.nodes) or 1
    columns = (
        Column(title, title, "name"),
        Column("nodes", "nodes", "count"),
        Column("median_ns", "median", "ns"),
        Column("share", "share", "percent"),
        Column("macs", "MACs", "count"),
    )
    rows = [
        (name, len(ns), (t := sum(n.median_ns for n in ns)), t / total, sum(n.macs or 0 for n in ns))
        for name, ns in groups.items()
    ]
    return Table(
        "", columns, tuple(sorted(rows, key=lambda r: -r[2])), f"{how} {verdict(result)}".lstrip(), _notes(result)
    )


def verdict(result: Profile) -> str:
    """Sum against wall, engine, and whether the machine was quiet."""
    noise = "" if result.noise.quiet else f" The machine was busy: {result.noise.reason}."
    threads = f", {result.threads} {'thread' if result.threads == 1 else 'threads'}" if result.threads else ""
    return (
        f"Sum of nodes {units.duration(result.sum_ns)}, wall {units.duration(result.wall_ns)}, median of {counted(result.runs, 'run')} in {result.engine} "
        f"({result.kernels}{threads}); {_memory(result)}.{noise}"
    )


def _memory(result: Profile) -> str:
    if result.peak_bytes is None or result.weight_bytes is None:
        return f"memory not measured in {result.engine}"
    return f"peak {units.size(result.peak_bytes)} beside {units.size(result.weight_bytes)} of weights"


def to_github(worse: Sequence[Slowdown], path: str, most: float) -> str:
    """Workflow commands that GitHub shows beside a commit, one for the whole or a node that got slower."""
    return "\n".join(
        annotation(
            "error",
            path,
            "slower",
            f"{r.name} takes {units.duration(r.now_ns)}, {units.duration(r.was_ns)} before: {units.ratio(r.ratio)}, {most:.2f}× is allowed",
        )
        for r in worse
    )
