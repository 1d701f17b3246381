"""B's nodes beside A's: what is new, gone, changed or the same, and which nodes of A each node of B came from."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.alignment import align, sources
from workbench.delta import Delta
from workbench.lookup import Lookup
from workbench.nodes import NodeId


@dataclass(frozen=True, slots=True)
class Lineup:
    """Rows of two node tables.

    sign    row of B → "+", "~" or "="
    origin  row of B → rows of A it stands for
    became  row of A → the row of B that took it in, where one did
    gone    rows of A without a partner, each with the row of B it is shown after (−1: at the top)
    what    row of B → what changed, one sentence each
    """

    sign: dict[int, str]
    origin: dict[int, tuple[int, ...]]
    became: dict[int, int]
    gone: tuple[tuple[int, int], ...]
    what: dict[int, tuple[str, ...]]

    def count(self, sign: str) -> int:
        """How many rows of B bear a sign; "−" counts those of A that are gone."""
        return len(self.gone) if sign == "−" else sum(s == sign for s in self.sign.values())


def line_up(a: Lookup, b: Lookup, delta: Delta) -> Lineup:
    """Align the main graphs of two lookups whose difference is known."""
    pairs = align(a.model.graph, b.model.graph)
    origin_at = sources(a.model.graph, b.model.graph, pairs)
    row_a = {i: a.row_of[NodeId("", i)] for i in range(len(a.model.graph.nodes))}
    row_b = {i: b.row_of[NodeId("", i)] for i in range(len(b.model.graph.nodes))}
    changed = {c.after.index: c.what for c in delta.changed}
    sign = {}
    for i, row in row_b.items():
        touched = i in changed or len(origin_at.get(i, ())) > 1
        sign[row] = "+" if i not in pairs else "~" if touched else "="
    origin = {row_b[i]: tuple(row_a[j] for j in js) for i, js in origin_at.items()}
    became = {j: row for row, js in origin.items() for j in js}
    kept = set(pairs.values())
    gone, last = [], -1
    to_b = {j: row_b[i] for i, j in pairs.items()}
    for j, row in row_a.items():
        if j in kept:
            last = to_b[j]
        else:
            gone.append((row, last))
    return Lineup(sign, origin, became, tuple(gone), {row_b[i]: what for i, what in changed.items()})
