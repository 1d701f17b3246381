"""owb report: what a change did, on one page."""

from __future__ import annotations

from pathlib import Path

import click

from workbench.cli.options import (
    budget_options,
    engine_option,
    feed_options,
    own_kernels_option,
    two_models,
)
from workbench.cli.output import progress_bar, say


@click.command()
@two_models
@click.option("-o", "--output", type=click.Path(), required=True, metavar="FILE.html", help="Where the page goes.")
@feed_options
@engine_option
@click.option("--runs", type=click.IntRange(3), default=12, show_default=True, help="Timed runs of each.")
@own_kernels_option
@budget_options
def command(
    before: str, after: str, output: str, inputs: str | None, dims: tuple[str, ...], seed: int, engine: str, runs: int
) -> None:
    """Compare and profile A and B, and write one self-contained HTML page: sizes, operators, outputs, agreement, time."""
    import workbench
    from workbench import feeding
    from workbench.changes import gather
    from workbench.render.html import page
    from workbench.saving import check_target

    check_target(output)
    one, other = workbench.load(before), workbench.load(after)
    feeds = feeding.feeds_for(one, inputs, dims=feeding.parse_dims(dims), seed=seed)
    with progress_bar() as progress:
        report = gather(one, other, feeds.values, engine=engine, runs=runs, progress=progress)
    Path(output).write_text(page(report), encoding="utf-8")
    say(f"wrote {output}")
