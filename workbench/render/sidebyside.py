"""A `Beside` as a table."""

from __future__ import annotations

from collections.abc import Callable

from exec.wording import counted
from workbench.render import units
from workbench.render.table import Column, Table
from workbench.sidebyside import Beside, NodePair

_MOST = 25


def beside_table(found: Beside, by: str = "node", *, whole: bool = False) -> Table:
    """Both times of each node, or of each operator's nodes together; the largest difference first."""
    pairs = list(found.nodes) if by == "node" else _summed(found.nodes, lambda p: p.op)
    shown = pairs if whole or by != "node" else pairs[:_MOST]
    first = [Column("name", "node", "name"), Column("op", "operator", "name", spare=1)]
    columns = (
        *(first if by == "node" else [Column("op", "operator", "name")]),
        Column("a_ns", found.a, "ns"), Column("b_ns", found.b, "ns"), Column("change_ns", "difference", "ns"), Column("ratio", "ratio", "ratio"),
    )  # fmt: skip
    rows = tuple(
        (*((p.name, p.op) if by == "node" else (p.op,)), p.a_ns, p.b_ns, (p.b_ns or 0.0) - (p.a_ns or 0.0), p.ratio)
        for p in shown
    )
    left = f"{counted(len(pairs) - len(shown), 'more node')} (--all lists them). " if len(shown) < len(pairs) else ""
    missing = [sum(t is None for t in times) for times in zip(*((p.a_ns, p.b_ns) for p in found.nodes), strict=True)]
    alone = "".join(
        f" {counted(n, 'node')} not timed in {engine}."
        for n, engine in zip(missing, (found.a, found.b), strict=False)
        if n
    )
    if any(0.0 in (p.a_ns, p.b_ns) for p in found.nodes):
        alone += " 0 µs: computed inside a neighbour, or before the runs."
    share = units.ratio(found.b_sum_ns / found.a_sum_ns) if found.a_sum_ns else units.DASH
    caption = f"Sum of nodes {units.duration(found.a_sum_ns)} in {found.a}, {units.duration(found.b_sum_ns)} in {found.b}: {share}.{alone}"
    return Table("", columns, rows, left + caption)


def _summed(pairs: tuple[NodePair, ...], key: Callable[[NodePair], str]) -> list[NodePair]:
    totals: dict[str, list[float | None]] = {}
    for pair in pairs:
        entry = totals.setdefault(key(pair), [None, None])
        for k, time in enumerate((pair.a_ns, pair.b_ns)):
            if time is not None:
                entry[k] = (entry[k] or 0.0) + time
    summed = [NodePair("", name, a, b) for name, (a, b) in totals.items()]
    return sorted(summed, key=lambda p: -abs((p.a_ns or 0.0) - (p.b_ns or 0.0)))
