"""owb run: run a model once."""

from __future__ import annotations

import click

from workbench.cli.options import (
    budget_options,
    engine_option,
    feed_options,
    format_options,
    kernels_option,
    library_option,
    model_argument,
)
from workbench.cli.output import emit, say


@click.command()
@model_argument
@feed_options
@engine_option
@library_option
@kernels_option
@click.option(
    "--outputs", "names", metavar="A,B", help="Values to give instead of the outputs; any intermediate value by name."
)
@click.option("--save-inputs", type=click.Path(), metavar="FILE.npz", help="Write the inputs that were used.")
@click.option("--save-outputs", type=click.Path(), metavar="FILE.npz", help="Write the outputs.")
@format_options
@budget_options
def command(
    model: str, inputs: str | None, dims: tuple[str, ...], seed: int, engine: str, kernels: str, names: str | None,
    save_inputs: str | None, save_outputs: str | None, ort_library: str | None, format: str,
) -> None:  # fmt: skip
    """Run MODEL once and show what comes out: shape, range and mean of every output.

    Without --inputs, valid ones are generated from the seed and what was assumed is said.
    """
    import workbench
    from workbench import feeding
    from workbench.render.values import describe_values

    opened = workbench.load(model)
    feeds = feeding.feeds_for(opened, inputs, dims=feeding.parse_dims(dims), seed=seed)
    for line in feeds.assumptions:
        say(line)
    if save_inputs:
        feeding.save_npz(save_inputs, feeds.values)
    wanted = [n.strip() for n in names.split(",")] if names else None
    values = workbench.Session(opened, engine, kernels=kernels, ort_library=ort_library).run(feeds.values, wanted)
    if save_outputs:
        feeding.save_npz(save_outputs, values)
    result, table = describe_values(values)
    emit(result, "run", [table], format)
