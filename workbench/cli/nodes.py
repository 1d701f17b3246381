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
    help="Columns to show: op, domain, name, shape, dtype, params, graph, index, macs, bytes, intensity, time.",
)
@click.option(
    "--profile",
    type=click.Path(),
    metavar="FILE.json",
    help="Times for `time>2%` and the column time: of `owb profile --save` or --json, onnxruntime or trtexec.",
)
@click.option("--limit", type=int, default=0, metavar="N", help="At most N rows; what is left out is said.")
@format_options
def command(model: str, query: str, columns: tuple[str, ...], profile: str | None, limit: int, format: str) -> None:
    """List the nodes of MODEL that satisfy QUERY, subgraphs and functions included.

    Words are looked for in operator and name. Fields: op name scope domain dtype shape in out const near attr.<name> macs bytes
    params, and time with a --profile. The column intensity is multiply-adds per byte moved. `field:text` may hold * and ?, `field:~regex` searches, numbers take > >= < <= =, a leading - negates.
    """
    import workbench
    from exec.errors import OptionError
    from workbench import query as queries
    from workbench.lookup import Lookup
    from workbench.measured import times_in
    from workbench.nodes import node_table, select
    from workbench.render.listing import SHORT, node_rows, node_rows_table
    from workbench.shapes import inferred

    opened = workbench.load(model)
    asked = {term.field for term in queries.parse(query)} | set(columns)
    if "time" in asked and profile is None:
        raise OptionError(
            "a model has no times", hint=f"`owb profile {model} --save t.json`, then --profile t.json here"
        )
    times = times_in(profile, opened) if profile is not None else None
    if times is not None or asked & {"macs", "bytes", "intensity"}:
        lookup = Lookup.complete(opened, times)
        table = lookup.table
        if lookup.known is not None and lookup.known.sizes:
            say("counted with " + ", ".join(f"{name}={n}" for name, n in lookup.known.sizes.items()))
    else:
        table = node_table(opened, shapes=inferred(opened))
    rows = select(table, query)
    shown = rows[:limit] if limit else rows
    wanted = columns or ((*SHORT, "time") if times is not None else ())
    emit({"nodes": node_rows(table, shown)}, "nodes", [node_rows_table(table, shown, len(rows), wanted)], format)
