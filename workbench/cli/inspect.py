"""owb inspect: what a model is, on one card."""

from __future__ import annotations

import click

from workbench.cli.options import format_options, model_argument
from workbench.cli.output import emit


@click.command()
@model_argument
@format_options
def command(model: str, format: str) -> None:
    """Show what MODEL is: inputs, outputs, opsets, weights, operators.

    Nothing runs and no weight is read, so this is quick on any size. Exit 0, or 2 if the file cannot be read.
    """
    import workbench
    from workbench.render.cards import card_tables

    card = workbench.inspect(workbench.load(model))
    emit(card, "summary", card_tables(card), format)
