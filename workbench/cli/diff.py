"""owb diff: how two models differ in structure, attributes and weights."""

from __future__ import annotations

import click

from workbench.cli.options import format_options, two_models
from workbench.cli.output import emit, progress_bar


@click.command()
@two_models
@format_options
def command(before: str, after: str, format: str) -> int:
    """Say what differs between A and B; nodes that were only renamed do not count.

    Nodes are aligned by recorded provenance, by structure, by name, then along the wires. Exit 1 if anything differs.
    """
    import workbench
    from workbench.render.differing import delta_tables

    models = workbench.load(before), workbench.load(after)
    with progress_bar() as progress:
        delta = workbench.diff(*models, progress=progress)
    emit(delta, "delta", delta_tables(delta), format)
    return 0 if delta.empty else 1
