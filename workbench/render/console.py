"""Tables on a terminal, drawn by rich; names are text, never markup."""

from __future__ import annotations

import sys
from typing import Literal, TextIO

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from workbench.render.layout import GAP, aside, laid_out, piped_width
from workbench.render.table import Table
from workbench.render.text import display_name


def console(stream: TextIO | None = None, width: int | None = None) -> Console:
    """A console that never interprets markup or emoji; colour only on a terminal that wants it."""
    stream = stream or sys.stdout
    if width is None and not stream.isatty():
        width = piped_width()
    return Console(file=stream, markup=False, emoji=False, highlight=False, width=width, soft_wrap=False)


def draw(table: Table, out: Console) -> None:
    """Write `table`: title, headings, rows, caption. Where it is too wide its texts are cut, then spare columns are left out; numbers stay whole."""
    if table.title:
        out.print(Text(display_name(table.title), style="bold"))
    if table.columns:
        layout = laid_out(table, out.width)
        grid = RichTable(
            box=None,
            pad_edge=False,
            padding=(0, GAP, 0, 0),
            show_header=any(c.title for c in layout.columns),
            header_style="dim",
        )
        for column, width in layout.pairs:
            side: Literal["left", "right"] = "right" if column.right else "left"
            cut: Literal["fold", "ellipsis"] = "fold" if column.wrap else "ellipsis"
            grid.add_column(Text(column.title), justify=side, overflow=cut, no_wrap=not column.wrap, width=width)
        for row in layout.cells:
            grid.add_row(*map(Text, row))
        out.print(grid)
    for line in (*table.notes, table.caption, aside(table, out.width)):
        if line:
            out.print(Text(display_name(line), style="dim"))
