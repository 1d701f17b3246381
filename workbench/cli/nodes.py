"""owb nodes: list and filter nodes."""

from __future__ import annotations

import click

from workbench.cli.options import format_options, model_argument, names
from workbench.cli.output import emit, say


@click.command()
@model_argument
@click.option(
    "-q",
    "--query",
    default="",
    metavar="QUERY",
    help='For example "op:Conv attr.group>1 name:~layers\\.\\d+ -dtype:float32".',
)
@click.option(
    "--columns",
    callback=names,
    metavar="A,B",
    help="Columns to show: op, domain, name, shape, dtype, params, graph, index, macs, bytes.",
)
@click.option("--limit", type=int, default=0, metavar="N", help="At most N rows; what is left out is said.")
@format_options
def command(model: str, query: str, columns: tuple[str, ...], limit: int, format: str) -> None:
    """List the nodes of MODEL that satisfy QUERY, subgraphs and functions included.

    Words are looked for in operator and name. Fields: op name scope domain dtype shape in out const near attr.<name> macs bytes
    params, and time on a screen with a profile. `field:text` may hold * and ?, `field:~regex` searches, numbers take > >= < <= =, a leading - negates.
    """
    import workbench
    from exec.errors import OptionError
    from workbench import query as queries
    from workbench.lookup import Lookup
    from workbench.nodes import node_table, select
    from workbench.render.listing import node_rows, node_rows_table
    from workbench.shapes import inferred

    opened = workbench.load(model)
    asked = {term.field for term in queries.parse(query)} | set(columns)
    if "time" in asked:
        raise OptionError(
            "a file has no times", hint="`owb profile` measures them; `owb MODEL` filters by them after a profile"
        )
    if asked & {"macs", "bytes"}:
        lookup = Lookup.complete(opened)
        table = lookup.table
        if lookup.known is not None and lookup.known.sizes:
            say("counted with " + ", ".join(f"{name}={n}" for name, n in lookup.known.sizes.items()))
    else:
        table = node_table(opened, shapes=inferred(opened))
    rows = select(table, query)
    shown = rows[:limit] if limit else rows
    emit({"nodes": node_rows(table, shown)}, "nodes", [node_rows_table(table, shown, len(rows), columns)], format)
