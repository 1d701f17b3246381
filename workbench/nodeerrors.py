"""How far each node's values are apart between A and B, for the rows of a node table."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.comparison import Comparison
from workbench.lookup import Lookup


@dataclass(frozen=True, slots=True)
class NodeError:
    """The worst of a node's outputs that were compared."""

    sqnr_db: float
    max_abs: float


def node_errors(lookup: Lookup, compared: Comparison | None, slot: str) -> dict[int, NodeError]:
    """Row → error, of the nodes whose values both models have; `slot` is the one `lookup` is of, "A" or "B"."""
    if compared is None:
        return {}
    made = {t.name: row for row, node in enumerate(lookup.table.node) if not lookup.table.id[row].graph for t in node.outputs}  # fmt: skip
    worst: dict[int, NodeError] = {}
    for value in compared.values:
        row = made.get(value.before if slot == "A" else value.after)
        if row is not None and (row not in worst or value.sqnr_db < worst[row].sqnr_db):
            worst[row] = NodeError(value.sqnr_db, value.max_abs)
    return worst
