"""owb demo: the main job on a shipped model."""

from __future__ import annotations

from pathlib import Path

import click

from workbench.cli.options import format_options
from workbench.cli.output import emit, say


@click.command()
@click.option("--keep", type=click.Path(file_okay=False), metavar="DIR", help="Write the three models here.")
@format_options
def command(keep: str | None, format: str) -> None:
    """Optimize and quantize the shipped digits CNN; show nodes, size, accuracy on held-out images, latency and the slowest nodes."""
    from workbench.demonstration import demonstrate
    from workbench.render.demonstrating import demonstration_tables

    folder = Path(keep) if keep else None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    result = demonstrate(say, folder=folder)
    emit(result, "demo", demonstration_tables(result), format)
