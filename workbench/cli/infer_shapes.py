"""owb infer-shapes: write what follows from the graph into the file."""

from __future__ import annotations

import click

from exec.wording import counted
from workbench.cli.options import format_options, model_argument
from workbench.cli.output import emit, say


@click.command()
@model_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="FILE",
    help="Where the result goes; without it, only wrong claims are listed.",
)
@format_options
def command(model: str, output: str | None, format: str) -> int:
    """Infer types and shapes of every value of MODEL, symbols included, and list declared ones that are wrong. Exit 1 if one is."""
    import workbench
    from passes.convert.infer_shapes import infer_shapes
    from workbench.render.table import Column, Table
    from workbench.saving import save_result

    result = infer_shapes(workbench.load(model))
    if output:
        save_result(result.model, output)
        say(f"wrote {output}")
    columns = (
        Column("value", "value", "name"),
        Column("said", "the file says", "name"),
        Column("follows", "what follows", "name"),
    )
    rows = tuple((w.value, w.said, w.follows) for w in result.wrong)
    caption = f"{counted(result.written, 'value')} declared, {result.unknown:,} that cannot be inferred, {counted(len(rows), 'wrong claim')} in the file"
    emit(
        {"written": result.written, "unknown": result.unknown, "wrong": result.wrong},
        "infer-shapes",
        [Table("", columns if rows else (), rows, caption)],
        format,
    )
    return int(bool(rows))
