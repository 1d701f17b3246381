"""owb tui: the workbench on a screen."""

from __future__ import annotations

import sys

import click

from exec.errors import OptionError


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path())
@click.option(
    "--theme",
    type=click.Choice(["owb-dark", "owb-light"]),
    default="owb-dark",
    show_default=True,
    help="Colours for a dark or a light terminal.",
)
@click.option(
    "--data", type=click.Path(), help="Calibration samples for Quantize: an .npz or a folder of .npy and .npz files."
)
def tui(model: str, theme: str, data: str | None) -> int:
    """Open MODEL in the terminal UI.

    Needs a terminal on both ends; elsewhere `owb inspect MODEL` prints the same card. The file is never written.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise OptionError("the terminal UI needs a terminal", hint=f"`owb inspect {model}` prints the card")
    from tui.app import WorkbenchApp

    app = WorkbenchApp(model, theme=theme, data=data, child=True)
    app.run()
    return app.return_code or 0
