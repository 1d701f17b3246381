"""A part of the graph as boxes with numbers: what the TUI's drawing shows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from exec.wording import counted
from workbench.chains import Group, chained, scoped, title_of
from workbench.criticalpath import Critical
from workbench.drawing.dag import Box, Drawing, draw
from workbench.lookup import Lookup
from workbench.render import units
from workbench.render.text import display_name

MOST_BOXES = 12_000
_SCOPES_FROM = 60
_LEAST_WIDTH = 30


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing, and which rows stand in each box."""

    groups: tuple[Group, ...]
    drawing: Drawing

    def box_of(self, row: int) -> int | None:
        """The box a row is in."""
        return next((k for k, g in enumerate(self.groups) if row in g.rows), None)


def groups_of(
    lookup: Lookup, rows: Sequence[int], scope: str, *, apart: Collection[int] = (), opened: Collection[str] = (), whole: bool = True
) -> list[Group]:  # fmt: skip
    """Boxes for rows: scopes where there are many, chains where there are few, node by node when `whole` is off."""
    rows = [r for r in rows if lookup.table.op[r] != "Constant"]
    if not whole:
        return [Group("node", "", (r,)) for r in rows]
    if len(rows) > _SCOPES_FROM:
        found = scoped(lookup, rows, scope, opened)
        while len(found) == 1 and found[0].kind == "scope":  # everything in one scope: what it holds is drawn
            opened = {*opened, found[0].scope}
            found = scoped(lookup, rows, scope, opened)
        alone = [g.rows[0] for g in found if g.kind == "node"]
        folded = chained(lookup.table, alone, apart) if len(alone) > 1 else [g for g in found if g.kind == "node"]
        return sorted([*(g for g in found if g.kind == "scope"), *folded], key=lambda g: g.rows[0])
    return chained(lookup.table, rows, apart)


Said = Callable[[Sequence[int]], tuple[str, str]]
"""Of the rows of a box: what stands at its right, above and below."""


def picture(lookup: Lookup, groups: Sequence[Group], scope: str, measure: str, heat: Callable[[float | None], str], critical: Critical | None = None, said: Said | None = None) -> Picture:  # fmt: skip
    """Lay the boxes out; `heat` gives the glyph of a share, `said` what stands in a box in place of a measure of the table."""
    table = lookup.table
    of = {id(table.node[r]): k for k, g in enumerate(groups) for r in g.rows}
    edges: dict[tuple[int, int], None] = {}
    for k, group in enumerate(groups):
        for r in group.rows:
            for tensor in table.node[r].outputs:
                for reader in tensor.outputs:
                    to = of.get(id(reader))
                    if to is not None and to != k:
                        edges.setdefault((k, to))
    path = set(critical.path) if critical is not None else set()
    heavy = {k for k, g in enumerate(groups) if not path.isdisjoint(g.rows)}
    boxes = [_box(lookup, g, scope, measure, heat, said) for g in groups]
    return Picture(tuple(groups), draw(boxes, tuple(edges), heavy))


def _box(lookup: Lookup, group: Group, scope: str, measure: str, heat: Callable[[float | None], str], said: Said | None) -> Box:  # fmt: skip
    table, last = lookup.table, group.rows[-1]
    title = display_name(title_of(table, group), 34)
    name = display_name(_short(table.label(group.rows[0]), scope), 18) if group.kind != "scope" else counted(len(group.rows), "node")  # fmt: skip
    shape = display_name(lookup.symbols.shape(table.shape[last]), 24)
    first, second = [title, name], [shape]
    if said is not None:
        above, below = said(group.rows)
        first += [above] if above else []
        second += [below] if below else []
    elif measure == "dtype":
        second.append(table.dtype[last])
    elif measure != "none":
        values = [v for r in group.rows if (v := lookup.column(measure)[r]) is not None]
        total = lookup.total(measure)
        if values and total:
            share = sum(values) / total
            first.append(f"{heat(share)} {units.percent(share)}")
            second.append(units.duration(sum(values)) if measure == "time" else units.size(sum(values)) if measure == "bytes" else units.count(sum(values)))  # fmt: skip
    width = max(len("  ".join(first)), len("  ".join(second)), _LEAST_WIDTH)
    return Box((_spread(first, width), _spread(second, width)), name)


def _short(label: str, scope: str) -> str:
    return label[len(scope) :].lstrip("/.") if scope and label.startswith(scope) else label


def _spread(parts: Sequence[str], width: int) -> str:
    """The last part at the right edge."""
    *left, right = parts if len(parts) > 1 else (*parts, "")
    text = "  ".join(left)
    return text + right.rjust(width - len(text))
