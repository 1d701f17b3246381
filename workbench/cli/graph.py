"""owb graph: draw a model, or the surroundings of a node."""

from __future__ import annotations

import shutil
import sys

import click

from workbench.cli.options import model_argument
from workbench.cli.output import say


@click.command()
@model_argument
@click.option("--around", metavar="NODE", help="Draw only what lies near this node.")
@click.option("--hops", type=click.IntRange(0, 50), default=2, show_default=True, help="How many wires away from it.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "dot", "mermaid", "svg", "json"]),
    default="text",
    show_default=True,
    help="text draws here; the others are for other tools.",
)
@click.option("--json", "form", flag_value="json", help="Short for --format json.")
def command(model: str, around: str | None, hops: int, form: str) -> None:
    """Draw the main graph of MODEL top to bottom; edges over many layers become named stubs."""
    import workbench
    from workbench import neighbourhood
    from workbench.render.json import to_json

    part = neighbourhood.excerpt(workbench.load(model), around, hops)
    if form == "dot":
        click.echo(neighbourhood.to_dot(part))
    elif form == "mermaid":
        click.echo(neighbourhood.to_mermaid(part))
    elif form == "svg":
        click.echo(neighbourhood.to_svg(part))
    elif form == "json":
        click.echo(to_json(part, "graph"))
    else:
        drawn = neighbourhood.picture(part)
        room = shutil.get_terminal_size().columns if sys.stdout.isatty() else drawn.width
        for line in drawn.lines():
            click.echo(line if len(line) <= room else line[: room - 1] + "…")
        if drawn.width > room:
            say(f"the drawing is {drawn.width} columns wide: `| less -S` scrolls it, --around NODE draws a part")
