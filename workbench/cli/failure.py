"""How an error looks on stderr: kind and sentence, then where, why and what to try."""

from __future__ import annotations

import click

from exec.errors import BenchError
from workbench.render.text import display_name


def show(error: BenchError) -> None:
    """At most four lines; nothing from a file reaches the terminal raw."""
    click.echo(f"owb: {error.kind}: {_one_line(error.what)}", err=True)
    for label, text in error.parts():
        if text:
            click.echo(f"  {label:6s} {_one_line(text)}", err=True)


def _one_line(text: str) -> str:
    return display_name(" ".join(text.splitlines()), limit=600)
