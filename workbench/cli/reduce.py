"""owb reduce: the smallest part that still shows a difference or an error."""

from __future__ import annotations

import click

from exec.wording import counted
from workbench.cli.options import (
    budget_options,
    feed_options,
    format_options,
    own_kernels_option,
)
from workbench.cli.output import emit, progress_bar, say

_ENGINES = ["embedded", "onnxruntime", "reference"]


@click.command()
@click.argument("models", nargs=-1, required=True, type=click.Path(), metavar="MODEL [OTHER]")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    required=True,
    metavar="FILE.onnx",
    help="Where the part goes; its inputs go to FILE.npz.",
)
@feed_options
@click.option(
    "--engine-a", type=click.Choice(_ENGINES), default="embedded", show_default=True, help="What runs MODEL, of two."
)
@click.option("--engine-b", type=click.Choice(_ENGINES), default="embedded", show_default=True, help="What runs OTHER.")
@click.option("--max-error", type=float, metavar="SHARE", help="Largest difference that counts as equal.")
@format_options
@own_kernels_option
@budget_options
def command(
    models: tuple[str, ...], output: str, inputs: str | None, dims: tuple[str, ...], seed: int, engine_a: str, engine_b: str, max_error: float | None, format: str
) -> None:  # fmt: skip
    """Write the smallest part of a model that raises its error, or, of two models, that makes the first value to differ.

    One model and two engines: give it twice. The part and its inputs are what a bug report needs.
    """
    from pathlib import Path

    import workbench
    from exec.errors import OptionError
    from workbench import bisection, feeding
    from workbench.render.table import Column, Table
    from workbench.saving import check_target

    if len(models) > 2:
        raise OptionError(counted(len(models), "model"), hint="one that fails, or two that differ")
    check_target(output)
    opened = [workbench.load(m) for m in models]
    feeds = feeding.feeds_for(opened[0], inputs, dims=feeding.parse_dims(dims), seed=seed)
    for line in feeds.assumptions:
        say(line)
    with progress_bar() as progress:
        if len(opened) == 1:
            found = bisection.reduce_error(opened[0], feeds=feeds.values)
        else:
            found = bisection.reduce_difference(
                opened[0],
                opened[1],
                feeds=feeds.values,
                engines=(engine_a, engine_b),
                tolerance=max_error,
                progress=progress,
            )
    found.model.save(output)
    beside = Path(output).with_suffix(".npz")
    feeding.save_npz(beside, found.inputs)
    say(f"wrote {output} and {beside}")
    columns = Column("nodes", "nodes", "count"), Column("of", "of", "count"), Column("shows", "shows", "name")
    emit(found, "reduced", [Table("", columns, ((found.nodes, found.of, found.shows),))], format)
