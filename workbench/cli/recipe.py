"""owb recipe: run, show, check and export recipes."""

from __future__ import annotations

from pathlib import Path

import click

from workbench.cli.options import (
    budget_options,
    format_options,
    model_argument,
    own_kernels_option,
)
from workbench.cli.output import emit, progress_bar, say

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
@format_options
@own_kernels_option
@budget_options
def run(recipe: str, model: str, output: str, format: str) -> None:
    """Apply RECIPE to MODEL."""
    import workbench
    from workbench import recipe as recipes
    from workbench.beforeafter import before_after
    from workbench.render.beforeafter import before_after_table
    from workbench.saving import check_target, save_result

    check_target(output)
    read = recipes.read_recipe(recipe)
    with progress_bar() as progress:
        opened = workbench.load(model)
        done = recipes.replay(read, opened, folder=Path(recipe).parent, progress=progress)
    save_result(done.model, output)
    say(f"wrote {output}")
    sizes = before_after(opened, done.model)
    steps = [{"do": step.__struct_config__.tag, "report": r} for step, r in zip(read.step, done.reports, strict=True)]
    caption = f"{len(steps)} {'step' if len(steps) == 1 else 'steps'}: {', '.join(str(s['do']) for s in steps)}."
    emit({"steps": steps, "sizes": sizes}, "replay", [before_after_table(sizes, caption)], format)


@command.command("export")
@click.argument("recipe", type=click.Path())
@click.option(
    "--to", type=click.Choice(["cli", "python"]), default="cli", show_default=True, help="Command lines, or a script."
)
@click.option("--model", metavar="FILE", help="What it begins with.  [default: the model that the recipe names]")
@click.option("--output", metavar="FILE", default="out.onnx", show_default=True, help="Where its result goes.")
def export(recipe: str, to: str, model: str | None, output: str) -> None:
    """Print RECIPE as the command lines, or the Python, that give the same model."""
    import shlex

    from workbench import recipe as recipes
    from workbench.exporting import command_lines, python_lines

    read = recipes.read_recipe(recipe)
    source = model or read.model or "model.onnx"
    if to == "python":
        click.echo("\n".join(python_lines(read, source, output)))
    else:
        click.echo("\n".join(command_lines(read.step, shlex.quote(source), shlex.quote(output))))


@command.command("show")
@click.argument("recipe", type=click.Path(), required=False)
@click.option("--json", "as_json", is_flag=True, help="As JSON instead of TOML.")
def show(recipe: str | None, as_json: bool) -> None:
    """Check RECIPE and print it with its defaults left out; without one, print an example."""
    import msgspec

    from workbench import recipe as recipes

    read = recipes.read_recipe(recipe) if recipe else None
    if as_json:
        from workbench.render.json import to_json

        known = read or msgspec.toml.decode(EXAMPLE, type=recipes.Recipe)
        click.echo(to_json(msgspec.to_builtins(known), "recipe"))
    else:
        click.echo(recipes.write_recipe(read) if read else EXAMPLE, nl=False)
