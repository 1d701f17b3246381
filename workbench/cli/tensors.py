"""owb tensors: list weights, with statistics."""

from __future__ import annotations

import click

from workbench.cli.options import format_options, model_argument
from workbench.cli.output import emit


@click.command()
@model_argument
@click.option("-q", "--query", default="", metavar="WORDS", help="Words that the name must contain.")
@click.option("--stats", is_flag=True, help="Read the values: range, mean, zeros, NaN, and the noise int8 would add.")
@click.option("--limit", type=int, default=0, metavar="N", help="At most N rows, the largest first.")
@format_options
def command(model: str, query: str, stats: bool, limit: int, format: str) -> None:
    """List the weights of MODEL, largest first."""
    import workbench
    from workbench.render.listing import tensor_table
    from workbench.tensors import tensor_rows, tensor_stats

    rows, weights = tensor_rows(workbench.load(model))
    words = query.lower().split()
    found = [k for k, row in enumerate(rows) if all(w in row.name.lower() for w in words)]
    found.sort(key=lambda k: -rows[k].weight_bytes)
    shown = found[:limit] if limit else found
    numbers = [tensor_stats(weights[k].values) for k in shown] if stats else []
    entries = [{"row": rows[k], "stats": numbers[i] if stats else None} for i, k in enumerate(shown)]
    emit(
        {"tensors": entries},
        "tensors",
        [tensor_table([rows[k] for k in shown], numbers, len(found), len(rows))],
        format,
    )
