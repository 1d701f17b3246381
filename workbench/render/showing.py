"""One node or one weight as tables."""

from __future__ import annotations

from workbench.detail import NodeDetail
from workbench.lookup import Lookup
from workbench.render import units
from workbench.render.table import Column, Table
from workbench.tensors import TensorRow, TensorStats

_BARS = "▁▂▃▄▅▆▇█"
_FACTS = (Column("fact", ""), Column("value", "", "name"))


def node_tables(detail: NodeDetail, lookup: Lookup) -> list[Table]:
    """Facts, attributes, and the links as the main table."""
    facts = [
        ("operator", f"{detail.domain}::{detail.op}"),
        ("name", detail.name or "none"),
        ("index", str(detail.id.index)),
    ]
    facts.append(("since", "no schema is known" if detail.since is None else f"opset {detail.since}"))
    if detail.origin:
        facts.append(("origin", ", ".join(detail.origin)))
    attributes = tuple((a.name, a.text, "default" if a.is_default else "") for a in detail.attributes)
    links = []
    for link in (*detail.inputs, *detail.outputs):
        peers = ", ".join(lookup.table.label(lookup.row_of[p]) for p in link.peers[:4]) + (
            " …" if len(link.peers) > 4 else ""
        )
        links.append(
            (
                "output" if link.output else "input",
                link.role,
                link.value,
                link.dtype,
                link.shape,
                peers or ("constant" if link.constant else ""),
            )
        )
    columns = (
        Column("side", ""), Column("role", "place"), Column("value", "value", "name"), Column("dtype", "dtype"), Column("shape", "shape", "shape"), Column("peers", "node", "name"),
    )  # fmt: skip
    tables = [Table("", _FACTS, tuple(facts))]
    if attributes:
        tables.append(
            Table(
                "",
                (Column("name", "attribute", "name"), Column("value", "value", "name"), Column("default", "")),
                attributes,
            )
        )
    return [*tables, Table("", columns, tuple(links))]


def tensor_tables(row: TensorRow, stats: TensorStats | None) -> list[Table]:
    """Facts and statistics of a weight."""
    facts = [
        ("name", row.name), ("type", f"{row.dtype} {units.shape(row.shape)}"), ("size", units.size(row.weight_bytes)),
        ("read by", ", ".join(row.readers[:6]) or "nothing"),
    ]  # fmt: skip
    if stats is not None and stats.min is not None and stats.max is not None:
        facts += [
            ("range", f"{stats.min:.6g} … {stats.max:.6g}"), ("mean, std", f"{stats.mean:.6g}, {stats.std:.6g}"),
            ("zeros", f"{stats.zeros:,}"), ("NaN, inf", f"{stats.nonfinite:,}"), ("histogram", histogram_text(stats.histogram)),
            ("as int8", f"{units.decibel(stats.int8_db)} with one scale, {units.decibel(stats.channel_db)} with one a row"),
        ]  # fmt: skip
    return [Table("", _FACTS, tuple(facts))]


def histogram_text(counts: tuple[int, ...]) -> str:
    """Blocks, one a bin."""
    top = max(counts, default=0)
    return "".join(_BARS[min(int(c / top * 7.999), 7)] if c else " " for c in counts) if top else ""
