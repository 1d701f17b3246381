"""owb edit: cut, rename, prune, set dims, strip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from workbench.cli.options import format_options, model_argument, names
from workbench.cli.output import emit, say

if TYPE_CHECKING:
    from exec.ir import Model


@click.group()
def command() -> None:
    """Edit a model: each command writes a new file and leaves MODEL as it is."""


def _write(model: str, change: Callable[[Model], Model], output: str, format: str) -> None:
    """Change what a file holds, write it, and show both in numbers."""
    import workbench
    from workbench.beforeafter import before_after
    from workbench.render.beforeafter import before_after_table
    from workbench.saving import check_target, save_result

    check_target(output)
    before = workbench.load(model)
    after = change(before)
    save_result(after, output)
    say(f"wrote {output}")
    result = before_after(before, after)
    emit(result, "edit", [before_after_table(result)], format)


def _pairs(entries: Sequence[str], option: str) -> dict[str, str]:
    from exec.errors import OptionError

    found = {}
    for entry in entries:
        left, equals, right = entry.rpartition("=")
        if not equals or not left or not right:
            raise OptionError(f"{option} {entry!r} is not OLD=NEW")
        found[left] = right
    return found


_output = click.option(
    "-o", "--output", type=click.Path(), required=True, metavar="FILE", help="Where the result goes."
)


@command.command("extract")
@model_argument
@click.option(
    "--inputs", callback=names, metavar="A,B", help="Values that become inputs; the model's own when not given."
)
@click.option(
    "--outputs", callback=names, metavar="A,B", help="Values that become outputs; the model's own when not given."
)
@_output
@format_options
def extract(model: str, inputs: tuple[str, ...], outputs: tuple[str, ...], output: str, format: str) -> None:
    """Cut out the part of MODEL that makes the outputs from the inputs."""
    from workbench import editing

    _write(model, lambda m: editing.extract(m, inputs, outputs), output, format)


@command.command("rename")
@model_argument
@click.argument("entries", nargs=-1, required=True, metavar="OLD=NEW…")
@_output
@format_options
def rename(model: str, entries: tuple[str, ...], output: str, format: str) -> None:
    """Rename nodes and values; inputs and outputs too."""
    from workbench import editing

    _write(model, lambda m: editing.rename(m, _pairs(entries, "rename")), output, format)


@command.command("prune")
@model_argument
@click.option("--drop-outputs", "drop", callback=names, required=True, metavar="A,B", help="Outputs to take away.")
@_output
@format_options
def prune(model: str, drop: tuple[str, ...], output: str, format: str) -> None:
    """Take outputs away, and the nodes that only they needed."""
    from workbench import editing

    _write(model, lambda m: editing.drop_outputs(m, drop), output, format)


@command.command("set-dim")
@model_argument
@click.argument("entries", nargs=-1, required=True, metavar="NAME=SIZE…")
@_output
@format_options
def set_dim(model: str, entries: tuple[str, ...], output: str, format: str) -> None:
    """Give symbolic dims a size or another name; `input:axis=…` for a dim that has none."""
    from workbench import editing

    dims: dict[str, int | str] = {k: int(v) if v.isdigit() else v for k, v in _pairs(entries, "set-dim").items()}
    _write(model, lambda m: editing.set_dims(m, dims), output, format)


@command.command("inputs-to-weights")
@model_argument
@click.option("--inputs", callback=names, metavar="A,B", help="Which; all that have a default when not given.")
@_output
@format_options
def inputs_to_weights(model: str, inputs: tuple[str, ...], output: str, format: str) -> None:
    """Make inputs that have a default (overridable initializers) weights, so that rewrites may fold them."""
    from workbench import editing

    _write(model, lambda m: editing.inputs_to_weights(m, inputs), output, format)


@command.command("strip")
@model_argument
@click.option("--docs", is_flag=True, help="Doc strings too.")
@click.option("--metadata", is_flag=True, help="All metadata, not only our provenance.")
@_output
@format_options
def strip(model: str, docs: bool, metadata: bool, output: str, format: str) -> None:
    """Drop the provenance that rewrites record, and more if asked."""
    from workbench import editing

    _write(model, lambda m: editing.strip(m, docs=docs, metadata=metadata), output, format)
