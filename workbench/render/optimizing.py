"""What an optimization did, as tables."""

from __future__ import annotations

import re
from collections import Counter

from exec.wording import counted
from passes.report import Census, Report, Verification
from workbench.render import units
from workbench.render.table import Column, Table

Row = tuple[str, str, str, str]

_NAMES = re.compile(r"\S*[./_\d]\S*")  # what looks like the name of a value, or a number


def report_tables(report: Report) -> list[Table]:
    """Rules, refusals by reason, what was undone, and before against after (the main table)."""
    tables = [rules_table(report)]
    if report.refused:
        tables.append(_refusals(report))
    if report.undone:
        columns = (Column("rule", "undone"), Column("node", "node", "name"), Column("reason", "because", wrap=True))
        tables.append(Table("", columns, tuple((u.rule, u.node, u.reason) for u in report.undone)))
    return [*tables, _before_after(report)]


def rules_table(report: Report) -> Table:
    """Every rule that applied or refused somewhere."""
    columns = (
        Column("rule", "rule"),
        Column("applied", "applied", "count"),
        Column("refused", "refused", "count"),
        Column("seconds", "ms", "number"),
    )
    used = [u for u in report.rules if u.applied or u.refused]
    silent = len(report.rules) - len(used)
    rows = tuple((u.rule, u.applied, u.refused, round(u.seconds * 1e3, 1)) for u in used)
    return Table("", columns, rows, f"{counted(silent, 'more rule')} found nothing")


def _refusals(report: Report) -> Table:
    """One row for a rule and a kind of reason, most places first; reasons that differ in names and numbers only are one kind."""
    grouped: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], tuple[str, str]] = {}
    for refused in report.refused:
        key = refused.rule, _NAMES.sub("…", refused.reason)
        grouped[key] += 1
        example.setdefault(key, (refused.node, refused.reason))
    columns = (
        Column("rule", "not done"),
        Column("places", "places", "count"),
        Column("node", "for example", "name"),
        Column("reason", "because", wrap=True),
    )
    return Table("", columns, tuple((key[0], n, *example[key]) for key, n in grouped.most_common()))


def sizes_table(
    before: Census, after: Census, opset: tuple[int, int], more: tuple[Row, ...] = (), caption: str = "", notes: tuple[str, ...] = ()
) -> Table:  # fmt: skip
    """Nodes, parameters, bytes and opset of both, then the operators whose number changed, the largest loss first."""
    a, b = before.by_op, after.by_op
    moved = [op for op in a.keys() | b.keys() if a.get(op, 0) != b.get(op, 0)]
    moved.sort(key=lambda op: (b.get(op, 0) - a.get(op, 0), op))
    weights = units.size(before.weight_bytes), units.size(after.weight_bytes)
    rows: tuple[Row, ...] = (
        _row("nodes", before.nodes, after.nodes),
        _row("Constant nodes", before.constant_nodes, after.constant_nodes),
        _row("parameters", before.parameters, after.parameters),
        ("weights", *weights, change(before.weight_bytes, after.weight_bytes)),
        ("opset", str(opset[0]), str(opset[1]), ""),
        *more,
        *(_row(op, a.get(op, 0), b.get(op, 0)) for op in moved),
    )
    columns = (
        Column("what", "", "name"),
        Column("before", "before"),
        Column("after", "after"),
        Column("change", "change"),
    )
    return Table("", columns, rows, caption, notes)


def _before_after(report: Report) -> Table:
    notes = f"{counted(len(report.vanished), 'value name')} gone." if report.vanished else ""
    if report.taken:
        notes += f" {counted(report.taken, 'initializer')} listed as {'an input' if report.taken == 1 else 'inputs'} taken as {'a weight' if report.taken == 1 else 'weights'} (`--overridable keep` leaves {'it' if report.taken == 1 else 'them'})."
    if report.overridable:
        notes += (
            f" {counted(report.overridable, 'initializer')} also listed as {'an input' if report.overridable == 1 else 'inputs'} (as before IR version 4), which a caller may override, so not folded:"
            f" `owb edit inputs-to-weights` makes {'it a weight' if report.overridable == 1 else 'them weights'}."
        )
    caption = f"{verified(report.verification)} {report.seconds:.2f} s. {notes}".rstrip()
    return sizes_table(report.before, report.after, report.opset, caption=caption)


def _row(what: str, before: int, after: int) -> Row:
    return what, f"{before:,}", f"{after:,}", change(before, after)


def change(before: float, after: float) -> str:
    """ "−42.0 %", "" when nothing changed."""
    if before == after:
        return ""
    return f"{(after - before) / before:+.1%}".replace("-", "−").replace("%", " %") if before else "new"


def verified(check: Verification) -> str:
    """One sentence on what was verified."""
    if check.scope == "none":
        return f"Not verified: {check.reason}."
    runs = f"{check.runs} {'run' if check.runs == 1 else 'runs'}"
    if check.scope == "regions":
        return f"Verified {check.regions} of {check.of} changed regions ({check.reason}), worst difference {check.worst:.1e} of the range."
    beside = f" and in {check.regions} of {counted(check.of, 'place')} by themselves" if check.regions else ""
    held = f", {check.tolerance:.0e} allowed."
    if check.worst > check.tolerance:
        held = f": more than {check.tolerance:.0e}, but the original itself moves as far when its inputs are rounded."
    said = f"Verified against the original on {runs}{beside}: worst difference {check.worst:.1e} of the range{held}"
    return said + _unproven(check.unproven)


def _unproven(names: tuple[str, ...]) -> str:
    """What the generated inputs could not show."""
    if not names:
        return ""
    which = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f" Not proven: {which}, the same number everywhere or none on all inputs (`--inputs` gives better ones)."
