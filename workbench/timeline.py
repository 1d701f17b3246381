"""A profile read for the screen: B's nodes beside the nodes of A they came from, groups, and memory along the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from exec.timing import NodeTime, Profile
from workbench.lineup import Lineup
from workbench.lookup import Lookup
from workbench.scopes import parts, scope_of


@dataclass(frozen=True, slots=True)
class TimeRow:
    """A node of B and, where A was measured too, what its sources took.

    row      of B's node table, None for what the table does not have
    sources  how many nodes of A it stands for; 0 unknown
    """

    node: NodeTime
    row: int | None
    sources: int
    before_ns: float | None

    @property
    def change(self) -> float | None:
        """Relative, signed; None without A."""
        return self.node.median_ns / self.before_ns - 1 if self.before_ns else None


def time_rows(
    profile: Profile, lookup: Lookup, before: Lookup | None = None, lineup: Lineup | None = None
) -> list[TimeRow]:
    """One row a node, in execution order."""
    by_name = {name: r for r, name in enumerate(lookup.table.name) if name}
    by_place = {
        (i.index, op): r for r, (i, op) in enumerate(zip(lookup.table.id, lookup.table.op, strict=True)) if not i.graph
    }
    out = []
    for node in profile.nodes:
        row = by_name.get(node.name) if node.name else by_place.get((node.index, node.op))
        sources: Sequence[int] = lineup.origin.get(row, ()) if lineup is not None and row is not None else ()
        times = [before.table.time_ns[a] for a in sources] if before is not None and before.timed else []
        known = [t for t in times if t is not None]
        out.append(TimeRow(node, row, len(sources), sum(known) if known else None))
    return out


@dataclass(frozen=True, slots=True)
class TimeGroup:
    """Nodes of one operator or scope."""

    title: str
    nodes: int
    median_ns: float
    before_ns: float | None


def groups(profile: Profile, by: str, before: Profile | None = None) -> list[TimeGroup]:
    """By "operator" or "scope" (its first two steps), the most time first."""
    key: Callable[[NodeTime], str] = (lambda n: n.op) if by == "operator" else _scope
    totals: dict[str, list[float]] = {}
    for node in profile.nodes:
        entry = totals.setdefault(key(node), [0, 0.0])
        entry[0] += 1
        entry[1] += node.median_ns
    old: dict[str, float] = {}
    for node in before.nodes if before is not None else ():
        old[key(node)] = old.get(key(node), 0.0) + node.median_ns
    for title in old.keys() - totals.keys():
        totals[title] = [0, 0.0]
    made = [TimeGroup(t, int(n), ns, old.get(t, 0.0) if before is not None else None) for t, (n, ns) in totals.items()]
    return sorted(made, key=lambda g: -max(g.median_ns, g.before_ns or 0.0))


def _scope(node: NodeTime) -> str:
    steps = parts(scope_of(node.name, node.op))
    return steps[min(1, len(steps) - 1)] if steps else "/"
