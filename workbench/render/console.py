"""Tables on a terminal, drawn by rich; names are text, never markup."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Literal, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from workbench.render.table import Column, Table
from workbench.render.text import display_name


def console(stream: TextIO | None = None, width: int | None = None) -> Console:
    """A console that never interprets markup or emoji; colour only on a terminal that wants it."""
    stream = stream or sys.stdout
    if width is None and not stream.isatty():
        width = _piped_width()
    return Console(file=stream, markup=False, emoji=False, highlight=False, width=width, soft_wrap=False)


def _piped_width() -> int:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() and int(columns) >= 20 else 120


_GAP, _LEAST = 2, 12


def draw(table: Table, out: Console) -> None:
    """Write `table`: title, headings, rows, caption. Where it is too wide its texts are cut, then spare columns are left out; numbers stay whole."""
    if table.title:
        out.print(Text(display_name(table.title), style="bold"))
    left_out: list[str] = []
    if table.columns:
        cells = [[table.text(row, k) for k in range(len(table.columns))] for row in range(len(table.rows))]
        natural = [max(map(cell_len, (c.title, *(row[k] for row in cells)))) for k, c in enumerate(table.columns)]
        kept = shown(table.columns, natural, out.width)
        left_out = [c.title for k, c in enumerate(table.columns) if k not in kept]
        columns = [table.columns[k] for k in kept]
        widths = fitted([natural[k] for k in kept], [c.right for c in columns], out.width)
        grid = RichTable(
            box=None,
            pad_edge=False,
            padding=(0, _GAP, 0, 0),
            show_header=any(c.title for c in columns),
            header_style="dim",
        )
        for column, width in zip(columns, widths, strict=True):
            side: Literal["left", "right"] = "right" if column.right else "left"
            cut: Literal["fold", "ellipsis"] = "fold" if column.wrap else "ellipsis"
            grid.add_column(Text(column.title), justify=side, overflow=cut, no_wrap=not column.wrap, width=width)
        for row in cells:
            grid.add_row(*(Text(row[k]) for k in kept))
        out.print(grid)
    aside = f"Not shown in {out.width} columns: {', '.join(left_out)} (--format csv has all)." if left_out else ""
    for line in (*table.notes, table.caption, aside):
        if line:
            out.print(Text(display_name(line), style="dim"))


def shown(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[int]:
    """The columns that fit with their texts cut to a dozen cells: the most spare ones are left out first."""
    kept = list(range(len(columns)))

    def least(k: int) -> int:
        return widths[k] if columns[k].right else min(widths[k], _LEAST)

    while sum(map(least, kept)) + _GAP * (len(kept) - 1) > room:
        most = max(kept, key=lambda k: columns[k].spare)
        if not columns[most].spare:
            break
        kept.remove(most)
    return kept


def fitted(widths: Sequence[int], whole: Sequence[bool], room: int) -> list[int]:
    """Column widths that come to `room` cells: the widest give way first, none below a dozen cells and none that is to stay `whole`."""
    out = list(widths)
    soft = [k for k in range(len(out)) if not whole[k] and out[k] > _LEAST]
    spare = room - _GAP * (len(out) - 1) - sum(out)
    while spare < 0 and soft:
        widest = max(soft, key=lambda k: out[k])
        if out[widest] <= _LEAST:
            break
        next_widest = max((out[k] for k in soft if k != widest), default=0)
        cut = min(max(out[widest] - max(next_widest, _LEAST), 1), -spare)
        out[widest] -= cut
        spare += cut
    return out
