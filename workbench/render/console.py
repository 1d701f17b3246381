"""Tables on a terminal, drawn by rich; names are text, never markup."""

from __future__ import annotations

import sys
from typing import TextIO

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from workbench.render.table import Table
from workbench.render.text import display_name


def console(stream: TextIO | None = None, width: int | None = None) -> Console:
    """A console that never interprets markup or emoji; colour only on a terminal that wants it."""
    stream = stream or sys.stdout
    if width is None and not stream.isatty():
        width = _piped_width()
    return Console(file=stream, markup=False, emoji=False, highlight=False, width=width, soft_wrap=False)


def _piped_width() -> int:
    import os

    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() and int(columns) >= 20 else 120


def draw(table: Table, out: Console) -> None:
    """Write `table`: title, a ruled heading, rows, caption."""
    if table.title:
        out.print(Text(display_name(table.title), style="bold"))
    if table.columns:
        grid = RichTable(box=None, pad_edge=False, show_header=any(c.title for c in table.columns), header_style="dim")
        for column in table.columns:
            grid.add_column(
                Text(column.title), justify="right" if column.right else "left", overflow="ellipsis", no_wrap=True,
                ratio=None, min_width=3,
            )  # fmt: skip
        for row in range(len(table.rows)):
            grid.add_row(*(Text(table.text(row, k)) for k in range(len(table.columns))))
        out.print(grid)
    for line in (*table.notes, table.caption):
        if line:
            out.print(Text(display_name(line), style="dim"))
