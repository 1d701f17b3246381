"""One place of a rule as two small pictures: the nodes as they are, and what the rule makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exec.ir import Model
from exec.wording import counted
from passes.optimize import optimize
from passes.report import Application, Report
from workbench.delta import diff
from workbench.detail import origin_of
from workbench.drawing.dag import Box, draw
from workbench.lookup import Lookup
from workbench.neighbourhood import near
from workbench.render.text import display_name

_TEXT = 26
_MOST = 14


@dataclass(frozen=True, slots=True)
class Preview:
    """A rule applied alone to a state.

    report  of exactly this rule: its places in order
    """

    before: Lookup
    after: Lookup
    report: Report


def preview(model: Model, rule: str) -> Preview:
    """Apply one rule to a copy, unverified: only to be looked at."""
    result = optimize(model, [rule], verify=False)
    return Preview(Lookup(model), Lookup(result.model), result.report)


def pictures(found: Preview, place: Application, cells: int = _TEXT) -> tuple[list[str], list[str]]:
    """The place before and after, as lines; "−" marks what goes and "+" what comes. A node's text has `cells` cells at most."""
    gone = [r for r in range(len(found.before.table)) if found.before.table.label(r) in place.sources]
    sources = set(place.sources)
    names = {found.before.table.label(r) for r in range(len(found.before.table))}
    after = found.after.table
    came = [r for r in range(len(after)) if sources.intersection(origin_of(after.node[r]))]
    outs = {t.name for r in gone for t in found.before.table.node[r].outputs}
    came = came or [r for r in range(len(after)) if outs.intersection(t.name for t in after.node[r].outputs)]
    kept = {r for r in came if after.label(r) in names and after.label(r) not in sources}
    before = _drawn(found.before, gone, "−", (), cells) if gone else [f"− {display_name(place.node)}, without a name"]
    return before, _drawn(found.after, came, "+", kept, cells)


def _drawn(lookup: Lookup, rows: Sequence[int], sign: str, plain: Sequence[int] | set[int], cells: int) -> list[str]:
    table = lookup.table
    if not rows:
        return ["no node is needed here"]
    around = [r for r in near(table, rows, 1) if table.op[r] != "Constant" or r in rows][:_MOST]
    place = {id(table.node[r]): k for k, r in enumerate(around)}
    edges = {
        (k, place[id(reader)]): None
        for k, r in enumerate(around)
        for tensor in table.node[r].outputs
        for reader in tensor.outputs
        if id(reader) in place
    }
    marked = set(rows) - set(plain)
    boxes = []
    for r in around:
        text = f"{sign if r in marked else ' '} {display_name(table.op[r], 14)}"
        label, room = display_name(table.label(r)), max(cells - len(text) - 1, 6)
        name = label if len(label) <= room else "…" + label[-room + 1 :]
        boxes.append(Box((f"{text} {name}",), name))
    return draw(boxes, tuple(edges)).lines()


def difference_text(before: Model, after: Model) -> str:
    """What a step changed, one line a node."""
    delta = diff(before, after)
    lines = [
        f"{counted(delta.same, 'node')} equal, {len(delta.removed)} gone, {len(delta.added)} new, {len(delta.changed)} changed"
    ]
    lines += [*delta.interface, *delta.model]
    lines += [f"{op}: {a} → {b}" for op, (a, b) in delta.operators.items()]
    lines += [f"− {n.op}  {n.name}" for n in delta.removed] + [f"+ {n.op}  {n.name}" for n in delta.added]
    lines += [f"~ {c.after.op}  {c.after.name}: {'; '.join(c.what)}" for c in delta.changed]
    return "\n".join(lines)
