"""owb edit: cut, rename, prune, set dims, strip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from workbench.cli.options import model_argument, names
from workbench.cli.output import say


@click.group()
def command() -> None:
    """Edit a model: each command writes a new file and leaves MODEL as it is."""


def _write(model: Any, output: str) -> None:
    from workbench.saving import save_result

    save_result(model, output)
    say(f"wrote {output}, {len(model.graph.nodes):,} nodes")


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
def extract(model: str, inputs: tuple[str, ...], outputs: tuple[str, ...], output: str) -> None:
    """Cut out the part of MODEL that makes the outputs from the inputs."""
    import workbench
    from workbench import editing

    _write(editing.extract(workbench.load(model), inputs, outputs), output)


@command.command("rename")
@model_argument
@click.argument("entries", nargs=-1, required=True, metavar="OLD=NEW…")
@_output
def rename(model: str, entries: tuple[str, ...], output: str) -> None:
    """Rename nodes and values; inputs and outputs too."""
    import workbench
    from workbench import editing

    _write(editing.rename(workbench.load(model), _pairs(entries, "rename")), output)


@command.command("prune")
@model_argument
@click.option("--drop-outputs", "drop", callback=names, required=True, metavar="A,B", help="Outputs to take away.")
@_output
def prune(model: str, drop: tuple[str, ...], output: str) -> None:
    """Take outputs away, and the nodes that only they needed."""
    import workbench
    from workbench import editing

    _write(editing.drop_outputs(workbench.load(model), drop), output)


@command.command("set-dim")
@model_argument
@click.argument("entries", nargs=-1, required=True, metavar="NAME=SIZE…")
@_output
def set_dim(model: str, entries: tuple[str, ...], output: str) -> None:
    """Give symbolic dims a size or another name; `input:axis=…` for a dim that has none."""
    import workbench
    from workbench import editing

    dims: dict[str, int | str] = {k: int(v) if v.isdigit() else v for k, v in _pairs(entries, "set-dim").items()}
    _write(editing.set_dims(workbench.load(model), dims), output)


@command.command("inputs-to-weights")
@model_argument
@click.option("--inputs", callback=names, metavar="A,B", help="Which; all that have a default when not given.")
@_output
def inputs_to_weights(model: str, inputs: tuple[str, ...], output: str) -> None:
    """Make inputs that have a default (overridable initializers) weights, so that rewrites may fold them."""
    import workbench
    from workbench import editing

    before = workbench.load(model)
    after = editing.inputs_to_weights(before, inputs)
    _write(after, output)
    say(f"{len(before.graph.inputs) - len(after.graph.inputs):,} inputs became weights")


@command.command("strip")
@model_argument
@click.option("--docs", is_flag=True, help="Doc strings too.")
@click.option("--metadata", is_flag=True, help="All metadata, not only our provenance.")
@_output
def strip(model: str, docs: bool, metadata: bool, output: str) -> None:
    """Drop the provenance that rewrites record, and more if asked."""
    import workbench
    from workbench import editing

    _write(editing.strip(workbench.load(model), docs=docs, metadata=metadata), output)
