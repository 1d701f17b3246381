"""owb calibrate: ranges of activations, measured, looked at and saved for later."""

from __future__ import annotations

from typing import Any

import click

from workbench.cli.calibration import data_options, scheme_options
from workbench.cli.options import (
    budget_options,
    format_options,
    model_argument,
    own_kernels_option,
)
from workbench.cli.output import emit, progress_bar, say


@click.command()
@model_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="FILE",
    help="Save the ranges as JSON: `owb quantize --ranges FILE` takes them.",
)
@data_options
@scheme_options
@format_options
@own_kernels_option
@budget_options
def command(
    model: str, output: str | None, data: Any, method: str, activations: str, weights: str, preset: str, include: tuple[str, ...],
    exclude: tuple[str, ...], format: str,
) -> None:  # fmt: skip
    """Measure the ranges of what MODEL's 8-bit nodes read and make, with a histogram of each."""
    import workbench
    from quantize.calibration import calibration
    from quantize.ranges import write_ranges
    from workbench.render.quantizing import calibration_tables
    from workbench.saving import check_target
    from workbench.selecting import selectors

    if output:
        check_target(output)
    opened = workbench.load(model)
    with progress_bar() as progress:
        found = calibration(
            opened, data, method=method, activations=activations, weights=weights, preset=preset, include=selectors(opened, include),
            exclude=selectors(opened, exclude), progress=progress,
        )  # fmt: skip
    if output:
        write_ranges(found.tensors, output, found.method, found.data)
        say(f"wrote {output}")
    emit(found, "calibration", calibration_tables(found), format)
