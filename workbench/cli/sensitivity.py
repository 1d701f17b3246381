"""owb sensitivity: what each node or value costs in 8 bits."""

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
from workbench.cli.output import emit, progress_bar


@click.command()
@model_argument
@data_options
@scheme_options
@click.option(
    "--by",
    type=click.Choice(["node", "tensor", "both"]),
    default="node",
    show_default=True,
    help="What is ranked: nodes with their weights, or the values between them.",
)
@format_options
@own_kernels_option
@budget_options
def command(
    model: str, data: Any, method: str, activations: str, weights: str, preset: str, include: tuple[str, ...], exclude: tuple[str, ...], by: str, format: str
) -> None:  # fmt: skip
    """Rank the nodes of MODEL, or its values: each alone in 8 bits, and what it does to the outputs. The most harmful come first."""
    import workbench
    from quantize.sensitivity import sensitivity
    from workbench.render.quantizing import sensitivity_tables
    from workbench.selecting import selectors

    opened = workbench.load(model)
    with progress_bar() as progress:
        ranking = sensitivity(
            opened, data, preset=preset, method=method, activations=activations, weights=weights, include=selectors(opened, include),
            exclude=selectors(opened, exclude), by=by, progress=progress,
        )  # fmt: skip
    emit(ranking, "sensitivity", sensitivity_tables(ranking), format)
