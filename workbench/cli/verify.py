"""owb verify: an exported model against what its framework recorded."""

from __future__ import annotations

import click

from workbench.cli.options import (
    budget_options,
    format_options,
    model_argument,
    own_kernels_option,
)
from workbench.cli.output import emit, progress_bar


@click.command()
@model_argument
@click.option(
    "--data",
    required=True,
    metavar="PATH",
    help="A folder of test_data_set_*, an .npz with inputs and outputs by name, or module:function, which gives pairs of both.",
)
@click.option(
    "--max-error",
    type=float,
    metavar="SHARE",
    help="Largest difference that counts as equal, as a share of an output's range.",
)
@click.option("--opset", "opsets", type=int, multiple=True, metavar="N", help="Also at this opset; may be repeated.")
@format_options
@own_kernels_option
@budget_options
def command(model: str, data: str, max_error: float | None, opsets: tuple[int, ...], format: str) -> int:
    """Check MODEL against recorded inputs and outputs in every engine that is installed.

    Says plainly whether the export holds. Exit 1 if an output differs; `owb compare MODEL MODEL --engine-b onnxruntime` then finds where.
    """
    import workbench
    from workbench.recorded import recordings
    from workbench.render.table import Column, Table
    from workbench.verification import verify_recorded

    opened = workbench.load(model)
    with progress_bar() as progress:
        result = verify_recorded(
            opened, recordings(opened, data), opsets=opsets, tolerance=max_error, progress=progress
        )
    columns = (
        Column("engine", "engine"), Column("recording", "recording", "name"), Column("output", "output", "name"), Column("verdict", ""),
        Column("sqnr_db", "SQNR", "db"), Column("share", "of range", "number"), Column("note", "", "name"),
    )  # fmt: skip
    rows = tuple(
        (c.engine, c.recording, c.output, "agrees" if c.within else "differs", c.sqnr_db, c.share, c.note)
        for c in result.checks
    )
    absent = "".join(f" {name} not used: {why}." for name, why in result.absent.items())
    emit(result, "verified", [Table("", columns, rows, result.verdict + absent)], format)
    return 0 if result.holds else 1
