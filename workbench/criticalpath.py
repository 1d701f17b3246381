"""Which nodes a run must wait for: the longest path through the measured times, and how much later every other node could end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from workbench.lookup import Lookup


@dataclass(frozen=True, slots=True)
class Critical:
    """Of the main graph, if every branch could run at once.

    path      rows of the table, in order
    length_ns their times added up
    total_ns  of all nodes
    slack_ns  row → how much longer the node could take before the run does; 0 on the path
    rank      row → its place by time, from 1
    """

    path: tuple[int, ...]
    length_ns: float
    total_ns: float
    slack_ns: dict[int, float]
    rank: dict[int, int]


def critical_path(lookup: Lookup) -> Critical:
    """The path and the slack of a lookup that has times."""
    order, readers, time = _wires(lookup)
    rows = sorted(order)
    start: dict[int, float] = dict.fromkeys(rows, 0.0)
    before: dict[int, int] = {}
    for r in order:
        end = start[r] + time[r]
        for n in readers[r]:
            if end > start[n] or n not in before:
                start[n] = max(end, start[n])
                before[n] = r
    last = max(rows, key=lambda r: start[r] + time[r], default=None)
    length = start[last] + time[last] if last is not None else 0.0
    latest: dict[int, float] = {}
    for r in reversed(order):
        latest[r] = min((latest[n] - time[n] for n in readers[r]), default=length)
    path = []
    while last is not None:
        path.append(last)
        last = before.get(last)
    slowest = sorted(rows, key=lambda r: -time[r])
    return Critical(
        tuple(reversed(path)), length, sum(time.values()),
        {r: max(latest[r] - start[r] - time[r], 0.0) for r in rows}, {r: k + 1 for k, r in enumerate(slowest)},
    )  # fmt: skip


def saved_by(lookup: Lookup, rows: Sequence[int]) -> dict[int, float]:
    """Row → by how many ns the longest path would shrink if the node cost nothing; another path may take its place."""
    order, readers, time = _wires(lookup)
    whole = _longest(order, readers, time)
    return {r: whole - _longest(order, readers, time | {r: 0.0}) for r in rows}


def _longest(order: Sequence[int], readers: Mapping[int, Sequence[int]], time: Mapping[int, float]) -> float:
    start: dict[int, float] = {}
    longest = 0.0
    for r in order:
        end = start.get(r, 0.0) + time[r]
        longest = max(longest, end)
        for n in readers[r]:
            if end > start.get(n, 0.0):
                start[n] = end
    return longest


def _wires(lookup: Lookup) -> tuple[list[int], dict[int, list[int]], dict[int, float]]:
    """Of the main graph: rows in an order in which they can run, who reads what each makes, and its time."""
    table = lookup.table
    rows = [r for r in range(len(table)) if not table.id[r].graph]
    row_of = {id(table.node[r]): r for r in rows}
    readers = {
        r: list({row_of[id(n)]: None for t in table.node[r].outputs for n in t.outputs if id(n) in row_of})
        for r in rows
    }
    graph = nx.DiGraph()
    graph.add_nodes_from(rows)
    graph.add_edges_from((r, n) for r in rows for n in readers[r])
    return list(nx.topological_sort(graph)), readers, {r: float(table.time_ns[r] or 0.0) for r in rows}
