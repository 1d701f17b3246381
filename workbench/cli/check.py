"""owb check: what a person should know of a model before shipping it."""

from __future__ import annotations

import click

from workbench.cli.options import FORMATS, model_argument, names
from workbench.cli.output import emit, progress_bar, say


@click.command()
@model_argument
@click.option("--select", callback=names, metavar="A,B", help="Only these codes, or codes that start so (OWB02).")
@click.option("--ignore", callback=names, metavar="A,B", help="All but these.")
@click.option(
    "--fix",
    is_flag=True,
    help="Apply the rewrites that findings name, verified, and check the result; -o says where it goes.",
)
@click.option("--diff", "differences", is_flag=True, help="Show what --fix would change; write nothing.")
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Where --fix writes; MODEL stays as it is.")
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
def command(
    model: str, select: tuple[str, ...], ignore: tuple[str, ...], fix: bool, differences: bool, output: str | None, fail_on: str, format: str
) -> int:  # fmt: skip
    """Check MODEL: structure, types, weights, names, opset, quantization, what an optimizer would still do.

    An error is wrong: it fails or computes what was not meant. A warning is likely to hurt: it fails or is slow in some runtimes. A note is
    good to know and wrong nowhere. With --fix the findings are what is left. Exit 1 if there is an error or a warning, which --fail-on changes. `owb explain CODE` tells what a code means.
    """
    import workbench
    from workbench.findings import repair
    from workbench.render.checking import findings_table, to_github, to_sarif
    from workbench.render.differing import delta_tables
    from workbench.saving import check_target, save_result

    if fix and not output and not differences:
        raise click.UsageError("--fix needs -o FILE for the repaired model, or --diff to show what it would change")
    if output:
        check_target(output)
    opened = workbench.load(model, strict=False)
    with progress_bar() as progress:
        result = workbench.check(opened, select=select, ignore=ignore, progress=progress)
        if fix or differences:
            repaired, rules = repair(opened, result, progress=progress)
            if not differences:
                result = workbench.check(repaired, select=select, ignore=ignore, progress=progress)
    if differences:
        delta = workbench.diff(opened, repaired)
        emit(delta, "delta", delta_tables(delta), format if format in FORMATS else "table")
        return int(result.fails(fail_on))
    if fix and output:
        save_result(repaired, output)
        say(f"wrote {output}: {', '.join(rules) or 'nothing could be repaired'}")
    if format == "github":
        text = to_github(result, model)
        click.echo(text, nl=bool(text))
    elif format == "sarif":
        click.echo(to_sarif(result, model))
    else:
        emit(result, "findings", [findings_table(result, whole=format != "table")], format)
    return int(result.fails(fail_on))
