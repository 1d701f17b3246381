"""owb recipe: run, show and check recipes."""

from __future__ import annotations

from pathlib import Path

import click

from workbench.cli.options import budget_options, model_argument
from workbench.cli.output import progress_bar, say

EXAMPLE = """version = 1

[[step]]
do = "optimize"
passes = ["default"]

[[step]]
do = "quantize"
data = "calibration.npz"
"""


@click.group()
def command() -> None:
    """Replay what was done to a model: ordered steps in TOML, as the terminal UI saves them.

    A recipe is data: it loads no code and reads nothing outside its folder. Replaying it on the same file gives the same bytes.
    """


@command.command("run")
@click.argument("recipe", type=click.Path())
@model_argument
@click.option("-o", "--output", type=click.Path(), required=True, metavar="FILE", help="Where the result goes.")
@budget_options
def run(recipe: str, model: str, output: str) -> None:
    """Apply RECIPE to MODEL."""
    import workbench
    from workbench import recipe as recipes
    from workbench.saving import save_result

    read = recipes.read_recipe(recipe)
    with progress_bar() as progress:
        done = recipes.replay(read, workbench.load(model), folder=Path(recipe).parent, progress=progress)
    save_result(done.model, output)
    say(f"{len(done.reports)} steps, wrote {output}")


@command.command("show")
@click.argument("recipe", type=click.Path(), required=False)
def show(recipe: str | None) -> None:
    """Check RECIPE and print it with its defaults left out; without one, print an example."""
    from workbench import recipe as recipes

    click.echo(recipes.write_recipe(recipes.read_recipe(recipe)) if recipe else EXAMPLE, nl=False)
