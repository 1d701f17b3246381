"""owb list: what there is to use."""

from __future__ import annotations

import click

from workbench.cli.options import format_options
from workbench.cli.output import emit


@click.command()
@click.argument("what", type=click.Choice(["rules", "kernels", "checks"]))
@format_options
def command(what: str, format: str) -> None:
    """List the rewrite `rules` in the order they run, the executor's `kernels`, or the `checks`."""
    from workbench import listings

    table = {"rules": listings.rules, "kernels": listings.kernels, "checks": listings.checks}[what]()
    rows = [{c.key: v for c, v in zip(table.columns, row, strict=True)} for row in table.rows]
    emit({what: rows}, what, [table], format)
