"""A `Delta` as tables."""

from __future__ import annotations

from exec.wording import counted
from workbench.delta import Delta
from workbench.render.table import Column, Table
from workbench.render.text import display_name

_NAMED = 3
"""So many changed weights are named below the table that lists them."""


def delta_tables(delta: Delta) -> list[Table]:
    """Interface and model, operators, changed weights, then nodes (the main table)."""
    tables = []
    facts = [("interface", text) for text in delta.interface] + [("model", text) for text in delta.model]
    if facts:
        tables.append(Table("", (Column("part", "part"), Column("what", "difference", "name")), tuple(facts)))
    if delta.operators:
        rows = tuple(
            (op, a, b, b - a)
            for op, (a, b) in sorted(delta.operators.items(), key=lambda item: item[1][1] - item[1][0])
        )
        tables.append(
            Table(
                "",
                (
                    Column("op", "operator", "name"),
                    Column("before", "A", "count"),
                    Column("after", "B", "count"),
                    Column("change", "change", "count"),
                ),
                rows,
            )
        )
    if delta.weights:
        columns = (
            Column("node", "weight of", "name"),
            Column("before", "A", "name"),
            Column("after", "B", "name"),
            Column("max_abs", "max diff", "number"),
            Column("sqnr_db", "SQNR", "db"),
            Column("note", "", "name"),
        )
        tables.append(
            Table("", columns, tuple((w.node, w.before, w.after, w.max_abs, w.sqnr_db, w.note) for w in delta.weights))
        )
    rows_n = [("~", c.after.op, c.after.name, "; ".join(c.what)) for c in delta.changed]
    rows_n += [
        (m, n.op, n.name, "")
        for m, nodes in (("−", delta.removed), ("+", delta.added))
        for n in nodes
        if n.op != "Constant"
    ]
    constants = [sum(n.op == "Constant" for n in nodes) for nodes in (delta.removed, delta.added)]
    caption = f"{counted(delta.same, 'node')} equal, {len(delta.renamed)} of them renamed; {len(delta.removed)} gone, {len(delta.added)} new, {len(delta.changed)} changed, {len(delta.fused)} made of several{_weights_named(delta)}"
    if any(constants):
        caption += f"; Constant nodes are not listed: {constants[0]} gone, {constants[1]} new"
    columns_n = (
        Column("mark", ""),
        Column("op", "operator", "name"),
        Column("name", "node", "name"),
        Column("what", "what", "name", wrap=True),
    )
    tables.append(Table("", columns_n, tuple(rows_n), caption))
    return tables


def _weights_named(delta: Delta) -> str:
    """ "; 2 weights changed: fc1.weight, fc1.bias"."""
    names = list(dict.fromkeys(w.after for w in delta.weights))
    if not names:
        return ""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"; {counted(len(names), 'weight')} changed: {', '.join(map(display_name, names[:_NAMED]))}{more}"
