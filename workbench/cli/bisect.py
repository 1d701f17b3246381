"""owb bisect: which rewrite breaks a model."""

from __future__ import annotations

import click

from workbench.cli.complete import rules
from workbench.cli.options import (
    budget_options,
    feed_options,
    format_options,
    model_argument,
    names,
    own_kernels_option,
)
from workbench.cli.output import emit, progress_bar


@click.command()
@model_argument
@click.option(
    "--passes",
    callback=names,
    shell_complete=rules,
    metavar="A,B",
    help="Rules or presets to suspect.  [default: default]",
)
@feed_options
@format_options
@own_kernels_option
@budget_options
def command(
    model: str, passes: tuple[str, ...], inputs: str | None, dims: tuple[str, ...], seed: int, format: str
) -> int:
    """Find the rewrites that change what MODEL computes, by halving. Exit 1 if there is one."""
    import workbench
    from workbench import feeding
    from workbench.render.table import Column, Table

    opened = workbench.load(model)
    feeds = (
        feeding.feeds_for(opened, inputs, dims=feeding.parse_dims(dims), seed=seed).values if inputs or dims else None
    )
    with progress_bar() as progress:
        guilty = workbench.bisect(opened, list(passes) or "default", feeds=feeds, progress=progress)
    columns = (Column("rule", "rule"), Column("node", "at", "name"), Column("reason", "because", wrap=True))
    text = f"{len(guilty)} applications change the numbers" if guilty else "no rewrite changes the numbers"
    emit(
        {"guilty": guilty},
        "bisect",
        [Table("", columns if guilty else (), tuple((g.rule, g.node, g.reason) for g in guilty), text)],
        format,
    )
    return int(bool(guilty))
