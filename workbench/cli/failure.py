"""How an error looks on stderr: kind and sentence, then where, why and what to try."""

from __future__ import annotations

import os

import click

from exec.errors import (
    BenchError,
    BudgetExceeded,
    ExecutionError,
    ExternalDataError,
    FeedError,
    InvalidModel,
    UnsupportedOp,
)
from workbench.render.text import display_name


def show(error: BenchError) -> None:
    """At most four lines; nothing from a file reaches the terminal raw."""
    click.echo(f"owb: {error.kind}: {_one_line(error.what)}", err=True)
    for label, text in error.parts():
        if text:
            click.echo(f"  {label:6s} {_one_line(text)}", err=True)


_OF_A_MODEL = (BudgetExceeded, ExecutionError, ExternalDataError, FeedError, InvalidModel, UnsupportedOp)


def name_file(error: BenchError, *paths: str) -> None:
    """Add the model's file, or both of two, to where an error in a model is, unless the error names one already."""
    if isinstance(error, FeedError) and error.where:
        return  # what is wrong is in a file of inputs
    if isinstance(error, _OF_A_MODEL) and not any(os.path.basename(path) in str(error) for path in paths):
        files = " or ".join(f"file {path}" for path in dict.fromkeys(paths))
        error.where = f"{error.where}, {files}" if error.where else files


def _one_line(text: str) -> str:
    return display_name(" ".join(text.splitlines()), limit=600)
