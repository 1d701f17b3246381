"""A profile read for the screen: B's nodes beside the nodes of A they came from, groups, and memory along the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from exec.timing import NodeTime, Profile
from workbench.lineup import Lineup
from workbench.lookup import Lookup
from workbench.timescopes import UNSPELLED, time_scopes


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


def groups(
    profile: Profile, by: str, before: Profile | None = None, modules: Mapping[str, str] | None = None
) -> list[TimeGroup]:
    """By "operator" or "scope" (as deep as it takes to tell), the most time first.

    modules  node name → module, as an exporter recorded it
    """

    earlier = before.nodes if before is not None else ()
    keys, old_keys = (
        ([n.op for n in profile.nodes], [n.op for n in earlier])
        if by == "operator"
        else _scopes(profile.nodes, earlier, modules)
    )
    totals: dict[str, list[float]] = {}
    for key, node in zip(keys, profile.nodes, strict=True):
        entry = totals.setdefault(key, [0, 0.0])
        entry[0] += 1
        entry[1] += node.median_ns
    old: dict[str, float] = {}
    for key, node in zip(old_keys, earlier, strict=True):
        old[key] = old.get(key, 0.0) + node.median_ns
    for title in old.keys() - totals.keys():
        totals[title] = [0, 0.0]
    made = [TimeGroup(t, int(n), ns, old.get(t, 0.0) if before is not None else None) for t, (n, ns) in totals.items()]
    return sorted(made, key=lambda g: -max(g.median_ns, g.before_ns or 0.0))


def _scopes(
    nodes: Sequence[NodeTime], earlier: Sequence[NodeTime], modules: Mapping[str, str] | None
) -> tuple[list[str], list[str]]:
    """Scopes of one depth for both; where no name spells one, each has repeated blocks of its own."""
    both, how = time_scopes([*nodes, *earlier], modules)
    if how.startswith(UNSPELLED):
        return time_scopes(nodes, modules)[0], time_scopes(earlier, modules)[0]
    return both[: len(nodes)], both[len(nodes) :]
