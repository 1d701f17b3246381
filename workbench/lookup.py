"""Everything the graph views ask about one model state, computed once and looked up by place."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from exec.ir import Model
from workbench import nodes
from workbench.detail import NodeDetail, node_detail
from workbench.nodes import Measures, NodeId, NodeTable
from workbench.scopes import Scope, scope_tree
from workbench.shapes import inferred


class Lookup:
    """Nodes, scopes and details of one state.

    profile  a `Profile` of the same state: gives the time column
    """

    def __init__(self, model: Model, profile: Any = None) -> None:
        self.model = model
        self.timed = profile is not None
        self.shapes = inferred(model)
        self.table: NodeTable = nodes.node_table(model, self._measures(profile), self.shapes)
        self.row_of: dict[NodeId, int] = {node_id: row for row, node_id in enumerate(self.table.id)}
        self.places = {id(node): node_id for node, node_id in zip(self.table.node, self.table.id, strict=True)}
        self._total_ns = sum(t for t in self.table.time_ns if t is not None)
        self._total_macs = sum(m for m in self.table.macs if m is not None)

    def _measures(self, profile: Any) -> Measures:
        if profile is None:
            return nodes.NOTHING
        by_name = {row.name: row for row in profile.nodes if row.name}
        found = [
            (node, by_name[node.name])
            for _, graph in nodes.graphs(self.model)
            for node in graph.nodes
            if node.name in by_name
        ]
        return Measures(
            {id(n): t.macs for n, t in found if t.macs is not None},
            {
                id(n): t.bytes_read + t.bytes_written
                for n, t in found
                if t.bytes_read is not None and t.bytes_written is not None
            },
            {id(n): t.median_ns for n, t in found},
        )

    @cached_property
    def scopes(self) -> tuple[Scope, ...]:
        """The tree that the names spell."""
        return scope_tree(self.table.scope)

    @cached_property
    def _scope_time(self) -> dict[str, float]:
        from workbench.scopes import parts

        total: dict[str, float] = {}
        for scope, time in zip(self.table.scope, self.table.time_ns, strict=True):
            for path in ("", *parts(scope)):
                total[path] = total.get(path, 0.0) + (time or 0.0)
        return total

    def find(self, query: str, scope: str = "") -> list[int]:
        """Rows that satisfy the query and lie in the scope; order of the graph."""
        rows = nodes.select(self.table, query)
        if not scope:
            return rows
        below = (scope + "/", scope + ".")
        return [r for r in rows if self.table.scope[r] == scope or self.table.scope[r].startswith(below)]

    def share(self, row: int) -> float | None:
        """The row's share of the measured time, or of the MACs, None when neither is known."""
        if self._total_ns:
            time = self.table.time_ns[row]
            return None if time is None else time / self._total_ns
        macs = self.table.macs[row]
        return macs / self._total_macs if macs is not None and self._total_macs else None

    def scope_share(self, scope: Scope) -> float | None:
        """The scope's share of the measured time, None without a profile."""
        return self._scope_time.get(scope.path, 0.0) / self._total_ns if self._total_ns else None

    def detail(self, row: int) -> NodeDetail:
        """One node in full."""
        return node_detail(self.model, self.table.id[row], self.table.node[row], self.places, self.shapes)
