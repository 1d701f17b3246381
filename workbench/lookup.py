"""Everything the graph views ask about one model state, computed once and looked up by place.

Names and scopes come first and cost little; shapes and costs are learnt afterwards, in the background, and make a new lookup
with the same rows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from exec.ir import Model, no_gc
from workbench import nodes
from workbench.detail import NodeDetail, node_detail
from workbench.nodes import NodeTable
from workbench.scopes import Scope, parts, scope_tree
from workbench.symbols import Symbols

if TYPE_CHECKING:
    from workbench.estimate import Estimate

NUMBERS = ("time", "MACs", "bytes", "params")


class Lookup:
    """Nodes, scopes and details of one state.

    profile  a `Profile` of the same state: gives the time column
    known    shapes and costs; without them the file's own value_info serves
    base     an earlier lookup of the same model: its rows and scopes are shared
    """

    def __init__(
        self, model: Model, profile: Any = None, known: Estimate | None = None, base: Lookup | None = None
    ) -> None:
        self.model, self.known, self.profile = model, known, profile
        self.symbols: Symbols
        self.row_of: dict[nodes.NodeId, int]
        self.places: dict[int, nodes.NodeId]
        shapes = known.shapes if known is not None else {}
        with no_gc():
            if base is not None:
                self.table: NodeTable = nodes.reshaped(base.table, shapes)
                self.symbols, self.row_of, self.places = base.symbols, base.row_of, base.places
                self.scopes = base.scopes
            else:
                self.table = nodes.node_table(model, shapes=shapes)
                self.symbols = Symbols(model)
                self.row_of = {node_id: row for row, node_id in enumerate(self.table.id)}
                self.places = {id(node): node_id for node, node_id in zip(self.table.node, self.table.id, strict=True)}
            if known is not None:
                self.table = replace(
                    self.table,
                    macs=tuple(None if c is None else c.macs for c in known.costs),
                    bytes=tuple(None if c is None else c.bytes_read + c.bytes_written for c in known.costs),
                )
            if profile is not None:
                self.table = replace(self.table, time_ns=tuple(self._times()))

    @classmethod
    def complete(cls, model: Model, profile: Any = None) -> Lookup:
        """With shapes and costs, at once."""
        from workbench.estimate import estimate

        return cls(model, profile, estimate(model))

    @property
    def timed(self) -> bool:
        """Whether the time column has numbers."""
        return self.profile is not None

    @property
    def shapes(self) -> dict[int, tuple[str, nodes.Shape | None]]:
        """id(tensor) → (dtype, shape), as far as known."""
        return self.known.shapes if self.known is not None else {}

    def _times(self) -> list[float | None]:
        """Medians by name; nodes without one by operator and place."""
        named = {row.name: row.median_ns for row in self.profile.nodes if row.name}
        placed = {(row.op, row.index): row.median_ns for row in self.profile.nodes if not row.name}
        return [
            named.get(name) if name else placed.get((op, node.index))
            for name, op, node in zip(self.table.name, self.table.op, self.table.id, strict=True)
        ]

    # ── scopes ─────────────────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def scopes(self) -> tuple[Scope, ...]:
        """The tree that the names spell."""
        with no_gc():
            return in_order(scope_tree(self.table.scope))

    def scope_totals(self, measure: str) -> dict[str, float]:
        """Sum of a measure below every scope; the root's is the whole."""
        if measure not in self._scope_totals:
            total: dict[str, float] = {}
            for scope, value in zip(self.table.scope, self.column(measure), strict=True):
                if value:
                    for path in ("", *parts(scope)):
                        total[path] = total.get(path, 0.0) + value
            self._scope_totals[measure] = total
        return self._scope_totals[measure]

    @cached_property
    def _scope_totals(self) -> dict[str, dict[str, float]]:
        return {}

    # ── numbers ────────────────────────────────────────────────────────────────────────────────────────────────────

    def column(self, measure: str) -> tuple[float | None, ...]:
        """The values of a measure, one a row: "time", "MACs", "bytes" or "params"."""
        return {
            "time": self.table.time_ns, "MACs": self.table.macs, "bytes": self.table.bytes, "params": self.table.params,
        }[measure]  # fmt: skip

    def total(self, measure: str) -> float:
        """The sum over all rows."""
        if measure not in self._totals:
            self._totals[measure] = float(sum(v for v in self.column(measure) if v is not None))
        return self._totals[measure]

    @cached_property
    def _totals(self) -> dict[str, float]:
        return {}

    def share(self, row: int, measure: str = "") -> float | None:
        """The row's part of a measure; of time, or of the MACs without a profile, when none is named."""
        measure = measure or ("time" if self.timed else "MACs")
        value, total = self.column(measure)[row], self.total(measure)
        return value / total if value is not None and total else None

    @cached_property
    def dtypes(self) -> Counter[str]:
        """How many nodes make each type."""
        return Counter(self.table.dtype)

    # ── search and detail ──────────────────────────────────────────────────────────────────────────────────────────

    def find(self, query: str, scope: str = "") -> list[int]:
        """Rows that satisfy the query and lie in the scope; order of the graph."""
        rows = nodes.select(self.table, query)
        if not scope:
            return rows
        below, of = (scope + "/", scope + "."), self.table.scope
        return [r for r in rows if of[r] == scope or of[r].startswith(below)]

    def detail(self, row: int) -> NodeDetail:
        """One node in full."""
        return node_detail(self.model, self.table.id[row], self.table.node[row], self.places, self.shapes)


def in_order(scopes: tuple[Scope, ...]) -> tuple[Scope, ...]:
    """Numbered siblings by number ("model.9" before "model.10"), others as their first nodes come; still depth first."""
    below: list[list[int]] = [[] for _ in scopes]
    above: list[int] = []
    for k, scope in enumerate(scopes):
        del above[scope.level :]
        if above:
            below[above[-1]].append(k)
        above.append(k)
    out: list[Scope] = []
    stack = [0] if scopes else []
    while stack:
        k = stack.pop()
        out.append(scopes[k])
        stack.extend(reversed(_by_number(scopes, below[k])))
    return tuple(out)


def _by_number(scopes: tuple[Scope, ...], siblings: list[int]) -> list[int]:
    """Siblings in the order their stems first come, those of one stem by their number."""
    if len(siblings) < 2:
        return siblings
    stems: dict[str, int] = {}
    keys: dict[int, tuple[str, int]] = {}
    for k in siblings:
        label = scopes[k].label
        stem = label.rstrip("0123456789")
        keys[k] = stem, int(label[len(stem) :] or -1)
        stems[stem] = min(stems.get(stem, scopes[k].first), scopes[k].first)
    return sorted(siblings, key=lambda k: (stems[keys[k][0]], *keys[k], scopes[k].path))
