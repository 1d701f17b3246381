"""Nodes and tensors as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exec.errors import OptionError, nearest
from exec.wording import counted
from workbench.nodes import NodeTable
from workbench.render.table import Column, Table
from workbench.tensors import TensorRow, TensorStats

_NODE_COLUMNS = (
    Column("op", "operator", "name"), Column("domain", "domain", "name"), Column("name", "name", "name"), Column("shape", "output", "shape"),
    Column("dtype", "dtype"), Column("params", "params", "count"), Column("graph", "graph", "name"), Column("index", "index", "count"),
    Column("macs", "MACs", "count"), Column("bytes", "bytes moved", "bytes"), Column("intensity", "MACs/byte", "number"), Column("time", "median", "ns"),
)  # fmt: skip
SHORT = ("op", "name", "shape", "dtype", "params")
"""The columns that are shown when none are named."""


def node_rows(table: NodeTable, rows: Sequence[int]) -> list[dict[str, Any]]:
    """One dict a node, raw values."""
    return [
        {
            "op": table.op[r], "domain": table.domain[r] or "ai.onnx", "name": table.name[r], "shape": table.shape[r], "dtype": table.dtype[r],
            "params": table.params[r], "graph": table.id[r].graph, "index": table.id[r].index,
        }
        for r in rows
    ]  # fmt: skip


def node_rows_table(table: NodeTable, rows: Sequence[int], found: int, wanted: Sequence[str] = ()) -> Table:
    """The columns asked for, or those that fit a terminal."""
    by_key = {c.key: c for c in _NODE_COLUMNS}
    for key in wanted:
        if key not in by_key:
            raise OptionError(f"no column {key!r}", why=f"there are {', '.join(by_key)}", hint=nearest(key, by_key))
    columns = tuple(by_key[k] for k in wanted or SHORT)
    measured: dict[str, Sequence[float | None]] = {"macs": table.macs, "bytes": table.bytes, "time": table.time_ns}

    def cell(r: int, row: dict[str, Any], key: str) -> Any:
        if key in measured:
            return measured[key][r]
        if key == "intensity":
            macs, moved = table.macs[r], table.bytes[r]
            return macs / moved if macs is not None and moved else None
        return row[key] or (table.label(r) if key == "name" else row[key])

    data = tuple(
        tuple(cell(r, row, c.key) for c in columns) for r, row in zip(rows, node_rows(table, rows), strict=True)
    )
    left = f"; {found - len(rows):,} more not shown" if found > len(rows) else ""
    return Table("", columns, data, f"{found:,} of {counted(len(table), 'node')}{left}")


def tensor_table(rows: Sequence[TensorRow], stats: Sequence[TensorStats | None], found: int, total: int) -> Table:
    """Weights with their statistics where they were computed."""
    columns: tuple[Column, ...] = (
        Column("name", "name", "name"), Column("dtype", "dtype", spare=2), Column("shape", "shape", "shape"), Column("weight_bytes", "bytes", "bytes", spare=3),
        Column("readers", "read by", "count", spare=8),
    )  # fmt: skip
    data: list[tuple[Any, ...]] = [(r.name, r.dtype, r.shape, r.weight_bytes, len(r.readers)) for r in rows]
    if stats:
        columns = (
            *columns, Column("min", "min", "number"), Column("max", "max", "number"), Column("mean", "mean", "number", spare=6),
            Column("std", "std", "number", spare=5),
            Column("zeros", "zeros", "count", spare=7), Column("nonfinite", "NaN, inf", "count", spare=4), Column("int8_db", "int8", "db"), Column("channel_db", "per row", "db"),
        )  # fmt: skip
        empty = (None,) * 8
        data = [
            (
                *row,
                *(empty if s is None else (s.min, s.max, s.mean, s.std, s.zeros, s.nonfinite, s.int8_db, s.channel_db)),
            )
            for row, s in zip(data, stats, strict=True)
        ]
    return Table(
        "",
        columns,
        tuple(data),
        f"{found:,} of {counted(total, 'weight')}, {sum(r.weight_bytes for r in rows):,} bytes shown",
    )
