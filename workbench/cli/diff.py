"""owb diff: how two models differ in structure, attributes and weights."""

from __future__ import annotations

import click

from workbench.cli.options import format_options
from workbench.cli.output import emit


@click.command()
@click.argument("before", type=click.Path(), metavar="A")
@click.argument("after", type=click.Path(), metavar="B")
@format_options
def command(before: str, after: str, format: str) -> int:
    """Say what differs between A and B; nodes that were only renamed do not count.

    Nodes are aligned by recorded provenance, by structure, by name, then along the wires. Exit 1 if anything differs.
    """
    import workbench
    from workbench.render.differing import delta_tables

    delta = workbench.diff(workbench.load(before), workbench.load(after))
    emit(delta, "delta", delta_tables(delta), format)
    return 0 if delta.empty else 1
