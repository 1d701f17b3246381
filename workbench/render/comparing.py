"""A `Comparison` as tables."""

from __future__ import annotations

from exec.wording import counted
from workbench.comparison import Comparison, ValueDiff
from workbench.render import units
from workbench.render.table import Column, Table

_MOST = 12


def comparison_tables(result: Comparison, *, whole: bool = False, judged_by: str = "") -> list[Table]:
    """Outputs, culprits, then values: those that differ, or all.

    judged_by  the baseline that decides in place of the tolerance
    """
    tables = [_outputs(result, judged_by)]
    if result.culprits:
        tables.append(_values(result.culprits, "lost here: the inputs agree, the value does not", ""))
    differing = [v for v in result.values if not v.within]
    rows = list(result.values) if whole else differing[:_MOST]
    if whole or differing:
        more = (
            ""
            if whole or len(differing) <= _MOST
            else f"; {len(differing) - _MOST} more differ (--all shows every value)"
        )
        caption = f"{counted(len(result.values), 'value')} aligned, {len(differing)} differ; {result.only_before} only in A, {result.only_after} only in B{more}"
        tables.append(_values(tuple(rows), "values, in the order B computes them", caption))
    return tables


def _outputs(result: Comparison, judged_by: str) -> Table:
    columns = (
        Column("name", "output", "name"), Column("sqnr_db", "SQNR", "db"), Column("cosine", "cosine", "number"), Column("max_abs", "max diff", "number"),
        Column("share", "of range", "number"), Column("within", ""), Column("note", "", "name"),
    )  # fmt: skip
    rows = tuple(
        (o.name, o.sqnr_db, o.cosine, o.max_abs, o.share, "agrees" if o.within else "differs", o.note)
        for o in result.outputs
    )
    verdict = "agree within" if result.equal else "differ by more than"
    caption = f"The outputs {verdict} {result.tolerance:.0e} of their range ({result.engines[0]} against {result.engines[1]})."
    first = result.first
    if first is not None:
        caption += f" First value to differ: {first.after} of {first.op} {first.node}, {units.decibel(first.sqnr_db)}."
    else:
        caption += f" {len(result.values)} shared values agree too."
    if result.lost:
        caption += f" Not compared: {lost_words(result)}."
    if judged_by:
        caption += f" The verdict is not this but the baseline's, {judged_by}."
    return Table("", columns, rows, caption)


def lost_words(result: Comparison) -> str:
    """The nodes that no engine runs, and the outputs behind them."""
    nodes = "; ".join(f"{n.node}, {n.reason}" for n in result.lost[:3])
    more = f" and {counted(len(result.lost) - 3, 'more node')}" if len(result.lost) > 3 else ""
    outputs = (
        f"; the output{'s' if len(result.unreached) > 1 else ''} {', '.join(result.unreached)}"
        if result.unreached
        else ""
    )
    return f"{nodes}{more}{outputs}"


def _values(values: tuple[ValueDiff, ...], title: str, caption: str) -> Table:
    columns = (
        Column("after", "value", "name"), Column("op", "made by", "name"), Column("shape", "shape", "shape"), Column("sqnr_db", "SQNR", "db"),
        Column("lost_db", "lost here", "db"), Column("cosine", "cosine", "number"), Column("max_abs", "max diff", "number"), Column("note", "", "name"),
    )  # fmt: skip
    return Table(
        title,
        columns,
        tuple((v.after, v.op, v.shape, v.sqnr_db, v.lost_db, v.cosine, v.max_abs, v.note) for v in values),
        caption,
    )
