"""Data on stdout in the format asked for, everything else on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from exec.progress import Progress
from workbench.render.table import Table

MOST_SAID = 4000
"""Characters of a remark: names in it can be megabytes long."""


def emit(result: Any, kind: str, tables: Sequence[Table], form: str) -> None:
    """Write a result: its tables, or the result itself as JSON, or its main table's rows as JSON lines or CSV.

    The main table is the last one: those before it are context.
    """
    if form == "json":
        from workbench.render.json import to_json

        click.echo(to_json(result, kind))
    elif form == "jsonl":
        from workbench.render.json import to_jsonl

        main = tables[-1]
        for line in to_jsonl({c.key: v for c, v in zip(main.columns, row, strict=True)} for row in main.rows):
            click.echo(line)
    elif form == "csv":
        from workbench.render.csv import to_csv

        click.echo(to_csv(tables[-1]), nl=False)
    elif not sys.stdout.isatty():
        from workbench.render import plain
        from workbench.render.layout import piped_width

        for k, table in enumerate(tables):
            click.echo("\n" * bool(k) + "\n".join(plain.lines(table, piped_width())))
    else:
        from workbench.render.console import console, draw

        out = console()
        for k, table in enumerate(tables):
            if k:
                out.print()
            draw(table, out)


def say(text: str) -> None:
    """A remark for the person, on stderr."""
    from workbench.render.text import display_name

    click.echo(display_name(text, limit=MOST_SAID), err=True)


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """A bar on stderr where there is a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    from workbench.render.console import console
    from workbench.render.text import display_name

    columns = (TextColumn("{task.description}", markup=False), BarColumn(30), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=console(sys.stderr), transient=True, refresh_per_second=8) as bar:
        task = bar.add_task("", total=None)

        def update(done: int, total: int, text: str) -> None:
            bar.update(task, completed=done, total=total or None, description=display_name(text, 50))

        yield update
