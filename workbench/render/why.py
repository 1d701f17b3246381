"""What a dry run says of one node, as a table."""

from __future__ import annotations

from workbench.render.table import Column, Table
from workbench.why import Why


def why_table(found: Why) -> Table:
    """A row for each rewrite that would be, or nearly was; the rules that found nothing below."""
    columns = (
        Column("rule", "rule"),
        Column("node", "at", "name"),
        Column("verdict", ""),
        Column("reason", "because", wrap=True),
    )
    rows = tuple((a.rule, a.node, "would be done", a.note) for a in found.done)
    rows += tuple((r.rule, r.node, "not done", r.reason) for r in found.refused)
    silent = f" Not their pattern: {', '.join(found.silent)}." if found.silent else ""
    nothing = "" if rows else " No rule comes near it."
    return Table(f"{found.node}, {found.op}", columns, rows, f"{nothing}{silent}".strip())
