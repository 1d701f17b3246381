"""owb check: what a person should know of a model before shipping it."""

from __future__ import annotations

import click

from workbench.cli.options import FORMATS, model_argument, names
from workbench.cli.output import emit, progress_bar


@click.command()
@model_argument
@click.option("--select", callback=names, metavar="A,B", help="Only these codes, or codes that start so (OWB02).")
@click.option("--ignore", callback=names, metavar="A,B", help="All but these.")
@click.option(
    "--format",
    "format",
    type=click.Choice([*FORMATS, "github", "sarif"]),
    default="table",
    show_default=True,
    help="How the result is written.",
)
@click.option("--json", "format", flag_value="json", help="Short for --format json.")
def command(model: str, select: tuple[str, ...], ignore: tuple[str, ...], format: str) -> int:
    """Check MODEL: structure, types, weights, names, opset, quantization, what an optimizer would still do.

    `owb explain CODE` tells what a code means. Exit 1 if there is an error or a warning, 0 if there are only notes.
    """
    import workbench
    from workbench.render.checking import findings_table, to_github, to_sarif

    opened = workbench.load(model, strict=False)
    with progress_bar() as progress:
        result = workbench.check(opened, select=select, ignore=ignore, progress=progress)
    if format == "github":
        click.echo(to_github(result, model))
    elif format == "sarif":
        click.echo(to_sarif(result, model))
    else:
        emit(result, "findings", [findings_table(result, whole=format != "table")], format)
    return int(result.counts["error"] + result.counts["warning"] > 0)
