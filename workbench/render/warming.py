"""A `Warmed` as a table."""

from __future__ import annotations

from exec.compiled.warming import Warmed
from workbench.render import units
from workbench.render.table import Column, Table


def warmed_table(result: Warmed) -> Table:
    """One row: how many there are, how many were new, how long it took."""
    columns = (
        Column("kernels", "kernels", "count"),
        Column("compiled", "compiled now", "count"),
        Column("seconds", "took"),
        Column("folder", "kept in", "name"),
    )
    row = (result.kernels, result.compiled, units.duration(int(result.seconds * 1e9)), result.folder)
    return Table("", columns, (row,), "" if result.compiled else "all of them were there")
