"""A `Profile` as tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from exec.timing import NodeTime, Profile
from workbench.render import units
from workbench.render.github import annotation
from workbench.render.table import Column, Table
from workbench.scopes import scope_of
from workbench.slowdown import Slowdown

_MOST = 25


def profile_tables(result: Profile, by: str = "node", *, whole: bool = False) -> list[Table]:
    """Time by node, operator or scope, slowest first."""
    if by == "op":
        return [_grouped(result, "operator", lambda n: n.op)]
    if by == "scope":
        return [_grouped(result, "scope", lambda n: scope_of(n.name, n.op) or "/")]
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
        f"{len(ordered) - len(shown)} more nodes, {units.percent(1 - running / total)} of the time (--all lists them). "
        if len(shown) < len(ordered)
        else ""
    )
    shared = " * shares a step with others: its part by cost." if any(n.shared for n in shown) else ""
    return Table("", columns, tuple(rows), left + verdict(result) + shared, _notes(result))


def _notes(result: Profile) -> tuple[str, ...]:
    """Remarks above the verdict, which says itself that the machine was busy."""
    return tuple(note for note in result.notes if note != result.noise.reason)


def _grouped(result: Profile, title: str, key: object) -> Table:
    groups: dict[str, list[NodeTime]] = defaultdict(list)
    assert callable(key)
    for node in result.nodes:
        groups[key(node)].append(node)
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
    return Table("", columns, tuple(sorted(rows, key=lambda r: -r[2])), verdict(result), _notes(result))


def verdict(result: Profile) -> str:
    """Sum against wall, engine, and whether the machine was quiet."""
    noise = "" if result.noise.quiet else f" The machine was busy: {result.noise.reason}."
    threads = f", {result.threads} {'thread' if result.threads == 1 else 'threads'}" if result.threads else ""
    return (
        f"Sum of nodes {units.duration(result.sum_ns)}, wall {units.duration(result.wall_ns)}, median of {result.runs} runs in {result.engine} "
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
