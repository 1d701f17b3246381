"""Options that several commands share: one spelling everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

FORMATS = ("table", "json", "jsonl", "csv")


def model_argument(function: F) -> F:
    """MODEL, a path. Opening it gives our own errors, so click does not look at it."""
    return click.argument("model", metavar="MODEL", type=click.Path())(function)


def format_options(function: F) -> F:
    """`--format`, and `--json` for short."""
    function = click.option("--json", "format", flag_value="json", help="Short for --format json.")(function)
    return click.option(
        "--format",
        "format",
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="How the result is written.",
    )(function)


def names(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    """ "a,b" → ("a", "b")."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if value else ()


def feed_options(function: F) -> F:
    """Where the inputs come from: a file, or generated from a seed with sizes for symbolic dims."""
    function = click.option(
        "--inputs",
        "inputs",
        metavar="FILE.npz",
        type=click.Path(),
        help="Inputs by name; generated from the seed when not given.",
    )(function)
    function = click.option(
        "--dim",
        "dims",
        metavar="NAME=N",
        multiple=True,
        help="Size of a symbolic dim in generated inputs; may be repeated.",
    )(function)
    return click.option("--seed", type=int, default=0, show_default=True, help="Seed of generated inputs.")(function)


def engine_option(function: F) -> F:
    return click.option(
        "--engine",
        type=click.Choice(["embedded", "onnxruntime", "reference"]),
        default="embedded",
        show_default=True,
        help="What runs the model.",
    )(function)
