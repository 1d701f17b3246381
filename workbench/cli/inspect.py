"""owb inspect: what a model is, on one card."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from workbench.cli.options import format_options, model_argument
from workbench.cli.output import emit, say

if TYPE_CHECKING:
    from workbench.card import Summary


def _another_word(_: click.Context, __: click.Parameter, value: str | None) -> None:
    """`--max-growth` limits the memory of a run, and nothing runs here: what was meant is another option."""
    if value is not None:
        raise click.UsageError(
            "nothing runs here, so there is no --max-growth of memory; for a --baseline it is --max-increase SHARE"
        )


@click.command()
@model_argument
@click.option("--save-baseline", type=click.Path(), metavar="FILE", help="Keep nodes, parameters and bytes, for CI.")
@click.option("--baseline", type=click.Path(), metavar="FILE", help="Compare with figures kept before.")
@click.option(
    "--max-increase",
    type=float,
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="By how much a figure may exceed its baseline (0.01 is 1 %).",
)
@click.option("--max-growth", metavar="N", hidden=True, expose_value=False, callback=_another_word)
@click.option(
    "--work/--no-work",
    default=None,
    help="Count multiply-adds and memory, which needs every shape. [default: up to 5,000 nodes]",
)
@click.option(
    "--dim",
    "dims",
    metavar="NAME=N",
    multiple=True,
    help="Size of a symbolic dim, for multiply-adds and memory; may be repeated.",
)
@format_options
def command(
    model: str, save_baseline: str | None, baseline: str | None, max_increase: float, work: bool | None, dims: tuple[str, ...], format: str
) -> int:  # fmt: skip
    """Show what MODEL is: inputs, outputs, opsets, weights, operators, multiply-adds, memory, repeated blocks.

    Nothing runs and no weight is read, so this is quick on any size. Exit 0; 1 if a figure grew beyond its baseline.
    """
    from workbench.render.cards import card_tables

    card = _look(model, dims, True if dims and work is None else work)
    emit(card, "summary", card_tables(card), format)
    if not (save_baseline or baseline):
        return 0
    from workbench import baseline as kept

    figures = {
        "nodes": card.nodes,
        "constant_nodes": card.constant_nodes,
        "parameters": card.parameters,
        "weight_bytes": card.weight_bytes,
        **({} if card.work is None else {"macs": card.work.macs}),
    }
    if save_baseline:
        kept.save_baseline(save_baseline, kept.Baseline("inspect", {k: float(v) for k, v in figures.items()}))
        say(f"wrote {save_baseline}")
    if not baseline:
        return 0
    worse = [v for v in kept.judge(kept.load_baseline(baseline, "inspect"), figures, max_increase) if not v.holds]
    for v in worse:
        say(f"{v.name} was {v.was:,.0f}, is {v.now:,.0f}, {v.allowed:,.0f} is allowed")
    return int(bool(worse))


def _look(path: str, dims: tuple[str, ...], work: bool | None) -> Summary:
    """The card of a file; the model is gone when this returns, and nobody waits until its memory is gone through."""
    import workbench
    from exec.ir import no_gc

    with no_gc():
        model = workbench.load(path)
        if dims:
            from workbench.editing import set_dims
            from workbench.feeding import parse_dims

            model = set_dims(model, parse_dims(dims))
        card = workbench.inspect(model, work=work)
        del model
    return card
