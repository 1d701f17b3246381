"""How the columns of a table share a line: texts are cut, then spare columns left out; numbers stay whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from rich.cells import cell_len

from workbench.render.table import Column, Table
from workbench.render.text import display_name

GAP, LEAST, FEWEST = 2, 12, 4
"""Cells between columns, those that a text keeps while others give way, and those it keeps in any case."""
LOOKED_AT, LONGEST = 256, 200
"""Names, and characters of each, by which it is decided where a column's names are cut."""


def piped_width() -> int:
    """The width where there is no terminal: COLUMNS, or 120."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() and int(columns) >= 20 else 120


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns that are shown, their widths, and their texts row by row."""

    columns: list[Column]
    widths: list[int]
    cells: list[list[str]]
    left_out: list[str]

    @property
    def pairs(self) -> list[tuple[Column, int]]:
        """Each column with its width."""
        return list(zip(self.columns, self.widths, strict=True))


def laid_out(table: Table, room: int) -> Layout:
    """Fit a table's columns into `room` cells."""
    cells = [[table.text(row, k) for k in range(len(table.columns))] for row in range(len(table.rows))]
    natural = [max(map(cell_len, (c.title, *(row[k] for row in cells)))) for k, c in enumerate(table.columns)]
    kept = shown(table.columns, natural, room)
    columns = [table.columns[k] for k in kept]
    widths = fitted([natural[k] for k in kept], [c.right for c in columns], room)
    left_out = [c.title for k, c in enumerate(table.columns) if k not in kept]
    texts = [[row[k] for row in cells] for k in kept]
    for k, (column, width) in enumerate(zip(columns, widths, strict=True)):
        if column.kind == "name" and not column.wrap:
            texts[k] = told_apart(texts[k], width)
    return Layout(columns, widths, [list(row) for row in zip(*texts, strict=True)], left_out)


def told_apart(names: Sequence[str], width: int) -> list[str]:
    """Names of one column cut to a width where most of them stay different: at their end, in the middle, at their start, or at both ends.

    Sentences, and names of wide characters, are left to be cut at their end.
    """
    ways: list[Callable[[str], str]] = [
        lambda name: f"{name[: width - 1]}…",
        lambda name: display_name(name, width),
        lambda name: f"…{name[len(name) - width + 1 :]}",
    ]
    long = {name for name in names if cell_len(name) > width > 1 and " " not in name and name.isascii()}
    looked_at = sorted(long)[:LOOKED_AT]
    if width > LEAST:
        sign = "/" if any("/" in name for name in looked_at) else "."
        deepest = max((name[:LONGEST].count(sign) for name in looked_at), default=0)
        ways += [partial(_without_scopes, count, sign, width) for count in range(1, deepest + 1)]
    way = max(ways, key=lambda cut: len(set(map(cut, looked_at))))
    return [way(name) if name in long else name for name in names]


def _without_scopes(count: int, sign: str, width: int, name: str) -> str:
    """A name without its first `count` scopes, cut at its end; where little would be left, its end."""
    left = name.split(sign, count)[-1]
    return f"…{name[len(name) - width + 1 :]}" if len(left) < width else f"…{left[: width - 2]}…"


def aside(table: Table, room: int) -> str:
    """What is said below where columns were left out."""
    left_out = laid_out(table, room).left_out if any(c.spare for c in table.columns) else []
    return f"Not shown in {room} columns: {', '.join(left_out)} (--format csv has all)." if left_out else ""


def shown(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[int]:
    """The columns that fit with their texts cut to a dozen cells: the most spare ones are left out first."""
    kept = list(range(len(columns)))

    def least(k: int) -> int:
        return widths[k] if columns[k].right else min(widths[k], LEAST)

    while sum(map(least, kept)) + GAP * (len(kept) - 1) > room:
        most = max(kept, key=lambda k: columns[k].spare)
        if not columns[most].spare:
            break
        kept.remove(most)
    return kept


def fitted(widths: Sequence[int], whole: Sequence[bool], room: int) -> list[int]:
    """Column widths that come to `room` cells: the widest give way first, to a dozen cells and then below; none that is to stay `whole`."""
    # What is wider than all there is gives way to that first: a name can be megabytes wide.
    out = [width if keep else min(width, max(room, LEAST)) for width, keep in zip(widths, whole, strict=True)]
    spare = room - GAP * (len(out) - 1) - sum(out)
    for least in (LEAST, FEWEST):
        soft = [k for k in range(len(out)) if not whole[k] and out[k] > least]
        while spare < 0 and soft:
            widest = max(soft, key=lambda k: out[k])
            if out[widest] <= least:
                break
            next_widest = max((out[k] for k in soft if k != widest), default=0)
            cut = min(max(out[widest] - max(next_widest, least), 1), -spare)
            out[widest] -= cut
            spare += cut
    return out
