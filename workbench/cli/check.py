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
    "--fail-on",
    type=click.Choice(["error", "warning", "note", "never"]),
    default="warning",
    show_default=True,
    help="Exit 1 from this level on.",
)
@click.option(
    "--format",
    "format",
    type=click.Choice([*FORMATS, "github", "sarif"]),
    default="table",
    show_default=True,
    help="How the result is written.",
)
@click.option("--json", "format", flag_value="json", help="Short for --format json.")
def command(model: str, select: tuple[str, ...], ignore: tuple[str, ...], fail_on: str, format: str) -> int:
    """Check MODEL: structure, types, weights, names, opset, quantization, what an optimizer would still do.

    An error is wrong: it fails or computes what was not meant. A warning is likely to hurt: it fails or is slow in some runtimes. A note is
    good to know and wrong nowhere. Exit 1 if there is an error or a warning, which --fail-on changes. `owb explain CODE` tells what a code means.
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
    return int(result.fails(fail_on))
