"""Compare's other faces: what differs in structure, one row a difference, and the outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tui import columns
from tui.columns import Column
from tui.line import Line
from tui.numbers import number
from tui.theme import HEAT_GLYPHS, heat_of_sqnr, operator_token
from tui.views.nodelist import SIGNS
from workbench.comparison import OutputDiff
from workbench.delta import Delta, NodeRef
from workbench.render.text import display_name

STRUCTURE = (Column("", 1), Column("operator", 18, rank=1), Column("node", 0, keep="end"), Column("what", 0))
OUTPUTS = (
    Column("", 1), Column("output", 0, keep="end"), Column("SQNR dB", 10, right=True), Column("", 1), Column("cosine", 10, right=True, rank=3),
    Column("max diff", 9, right=True, rank=1), Column("of range", 9, right=True, rank=2), Column("note", 30, rank=4),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """A difference in structure.

    sign  `+` only in B, `−` only in A, `~` in both and not the same
    node  its name as Graph finds it; "" for what is about the whole model
    """

    sign: str
    op: str
    node: str
    what: str


def changes(delta: Delta) -> list[Change]:
    """What is about the whole model first, then nodes changed, gone and new."""
    fused = dict(delta.fused)
    out = [Change("~", "", "", text) for text in (*delta.model, *delta.interface)]
    out += [Change("~", c.after.op, c.after.name, "; ".join(c.what)) for c in delta.changed]
    out += [Change("−", n.op, n.name, "") for n in delta.removed]
    out += [Change("+", n.op, n.name, _from(n, fused.get(n.name, ()))) for n in delta.added]
    return out + [Change("~", "renamed", after, f"{before} in A") for before, after in delta.renamed]


def _from(node: NodeRef, sources: tuple[str, ...]) -> str:
    return (
        f"in place of {sources[0]}" + (f" and {len(sources) - 1} more" if len(sources) > 1 else "") if sources else ""
    )


def change_row(change: Change, width: int) -> Line:
    """One row of the structure face."""
    cells: list[Any] = [
        (change.sign, SIGNS[change.sign]), (display_name(change.op or "model"), operator_token(change.op, "")),
        (display_name(change.node), "dim" if change.sign == "−" else "fg"), (display_name(change.what, 400), "dim" if change.node else "fg"),
    ]  # fmt: skip
    return columns.row(STRUCTURE, cells, width)


def output_row(output: OutputDiff, width: int) -> Line:
    """One row of the outputs face."""
    heat = heat_of_sqnr(output.sqnr_db) or 0
    cells: list[Any] = [
        ("✓", "ok") if output.within else ("✗", "bad"), (display_name(output.name), "strong"),
        ("∞" if output.sqnr_db > 900 else number(output.sqnr_db, ".1f"), "fg"), (HEAT_GLYPHS[heat], f"heat.{heat}"), (f"{output.cosine:.6f}", "dim"),
        (number(output.max_abs, ".1e") if output.max_abs else "0", "dim"), (number(output.max_of_range, ".1e") if output.max_of_range else "0", "dim"), (display_name(output.note), "dim"),
    ]  # fmt: skip
    return columns.row(OUTPUTS, cells, width)
