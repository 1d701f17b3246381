"""A `Summary` as tables."""

from __future__ import annotations

from exec.wording import counted
from workbench.blocks import Block
from workbench.card import FEW_NODES, Port, Summary
from workbench.render import units
from workbench.render.table import Column, Table
from workbench.render.text import display_name

PORTS = 20
"""Inputs, and outputs, that a card names; the JSON form has all."""


def card_tables(card: Summary) -> list[Table]:
    """Facts, inputs and outputs, weights, notes, operators (the main table)."""
    tables = [_facts(card), _ports(card)]
    if card.weights:
        tables.append(_weights(card))
    if card.notes:
        rows = tuple((n.code, n.where, n.message) for n in card.notes)
        tables.append(
            Table("Notes", (Column("code", "note"), Column("where", "where", "name"), Column("message", "what")), rows)
        )
    tables.append(_operators(card))
    return tables


def _facts(card: Summary) -> Table:
    opsets = " · ".join(f"{d or 'ai.onnx'} {v}" for d, v in sorted(card.opsets.items()))
    rows = [
        ("file", card.path or "in memory"),
        (
            "size",
            units.size(card.file_bytes)
            + (f" and {len(card.external_files)} external files" if card.external_files else ""),
        ),
        ("producer", card.producer or "not recorded"),
        ("ir · opset", f"{card.ir_version} · {opsets}"),
        ("nodes", f"{card.nodes:,}" + (f", and {card.constant_nodes:,} Constant" if card.constant_nodes else "")),
        ("subgraphs", f"{card.subgraphs}, functions {card.functions}, depth {card.depth}"),
        ("parameters", units.count(card.parameters)),
        (
            "weights",
            units.size(card.weight_bytes)
            + (f", {card.defaults:,} of them inputs with a default" if card.defaults else ""),
        ),
        ("quantization", card.quantization),
        *_work(card),
        *_blocks(card),
    ]
    return Table(card.name, (Column("fact", ""), Column("value", "")), tuple(rows))


def _work(card: Summary) -> list[tuple[str, str]]:
    work = card.work
    if work is None:
        why = (
            f"beyond {counted(FEW_NODES, 'node')}: --work counts"
            if card.nodes > FEW_NODES
            else "a weight cannot be read"
        )
        return [("MACs", f"not counted, {why}")]
    assumed = ", ".join(f"{display_name(name)}={size}" for name, size in work.sizes.items())
    left = f", {counted(work.unknown_nodes, 'node')} of unknown size not counted" if work.unknown_nodes else ""
    if work.unknown_nodes and not work.macs:
        return [
            (
                "MACs",
                f"not known: {counted(work.unknown_nodes, 'node')} of unknown size"
                + (f" at {assumed}" if assumed else ""),
            )
        ]
    return [
        ("MACs", units.count(work.macs) + (f" at {assumed}" if assumed else "") + left),
        ("activations", f"{units.size(work.activation_bytes)} at most at one time"),
    ]


def _blocks(card: Summary) -> list[tuple[str, str]]:
    def said(block: Block) -> str:
        made_of = ", ".join(f"{display_name(op)} {n}" if n > 1 else display_name(op) for op, n in block.operators[:4])
        more = ", …" if len(block.operators) > 4 else ""
        return f"{block.times} × {counted(block.nodes, 'node')} ({made_of}{more})"

    return [("repeats" if k == 0 else "", said(block)) for k, block in enumerate(card.blocks)]


def _ports(card: Summary) -> Table:
    def row(role: str, port: Port) -> tuple[str, str, str, object]:
        return role, port.name, port.dtype, port.shape

    roles = (("input", card.inputs), ("output", card.outputs))
    shown = tuple(row(role, port) for role, ports in roles for port in ports[:PORTS])
    hidden = [f"{len(ports) - PORTS:,} more {role}s" for role, ports in roles if len(ports) > PORTS]
    return Table(
        "",
        (
            Column("role", "role"),
            Column("name", "name", "name"),
            Column("dtype", "dtype"),
            Column("shape", "shape", "shape"),
        ),
        shown,
        f"{' and '.join(hidden)}: --json names all" if hidden else "",
    )


def _weights(card: Summary) -> Table:
    columns = (
        Column("dtype", "weights"),
        Column("tensors", "tensors", "count"),
        Column("parameters", "parameters", "count"),
        Column("weight_bytes", "bytes", "bytes"),
    )
    return Table("", columns, tuple((w.dtype, w.tensors, w.parameters, w.weight_bytes) for w in card.weights))


def _operators(card: Summary) -> Table:
    total = max(card.nodes, 1)
    rows = tuple((o.op, o.domain or "ai.onnx", o.nodes, o.nodes / total) for o in card.operators)
    return Table(
        "",
        (
            Column("op", "operator", "name"),
            Column("domain", "domain", "name"),
            Column("nodes", "nodes", "count"),
            Column("share", "share", "percent"),
        ),
        rows,
    )
