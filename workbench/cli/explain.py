"""owb explain: the page of a rule, check, operator or error."""

from __future__ import annotations

import click

from workbench.cli.complete import topics


@click.command()
@click.argument("name", shell_complete=topics)
def command(name: str) -> None:
    """Explain NAME: a rule id (fuse-conv-bn), a check's code (OWB021), an operator (Conv) or an error kind (external-data)."""
    from workbench.explain import explain

    click.echo(explain(name))
