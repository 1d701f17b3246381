"""owb show: one node or one weight in full."""

from __future__ import annotations

from pathlib import Path

import click

from workbench.cli.complete import nodes
from workbench.cli.options import format_options, model_argument
from workbench.cli.output import emit, say


@click.command()
@model_argument
@click.argument("name", shell_complete=nodes)
@click.option("--save", type=click.Path(), metavar="FILE.npy", help="Write a weight's values.")
@format_options
def command(model: str, name: str, save: str | None, format: str) -> None:
    """Show the node or weight called NAME: links, attributes beside their defaults, or statistics.

    A node without a name is called Operator#index, as `owb nodes` shows it.
    """
    import numpy as np

    import workbench
    from exec.errors import OptionError, nearest
    from workbench.lookup import Lookup
    from workbench.render.showing import node_tables, tensor_tables
    from workbench.tensors import tensor_rows, tensor_stats

    opened = workbench.load(model)
    lookup = Lookup.complete(opened)
    labels = [lookup.table.label(r) for r in range(len(lookup.table))]
    if name in labels:
        detail = lookup.detail(labels.index(name))
        emit(detail, "node", node_tables(detail, lookup), format)
        return
    rows, weights = tensor_rows(opened)
    for row, weight in zip(rows, weights, strict=True):
        if row.name == name:
            values = weight.values
            if save:
                np.save(Path(save), np.asarray(values))
                say(f"wrote {save}")
            stats = tensor_stats(values)
            emit({"tensor": row, "stats": stats}, "tensor", tensor_tables(row, stats), format)
            return
    raise OptionError(f"no node or weight {name!r}", model, hint=nearest(name, [*labels, *(r.name for r in rows)]))
