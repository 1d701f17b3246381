"""A quantization's report as tables."""

from __future__ import annotations

from collections import Counter

from quantize.report import QuantizeReport
from quantize.sensitivity import Sensitivity
from workbench.render import units
from workbench.render.optimizing import change
from workbench.render.table import Column, Table


def quantize_tables(report: QuantizeReport) -> list[Table]:
    """Findings by kind, outputs, and what changed (the main table)."""
    tables = []
    if report.findings:
        tables.append(_findings(report))
    columns = (
        Column("name", "output", "name"),
        Column("sqnr_db", "SQNR", "db"),
        Column("cosine", "cosine", "number"),
        Column("max_abs", "max diff", "number"),
        Column("agreement", "same class", "percent"),
        Column("worst_slice_db", "worst slice", "db"),
    )
    rows = tuple(
        (o.name, o.sqnr_db, o.cosine, o.max_abs, o.agreement, min(o.slices_db, default=None)) for o in report.outputs
    )
    tables.append(Table("", columns, rows))
    if any(t.sqnr_db is not None for t in report.tensors):
        tables.append(_worst(report))
    if report.search:
        tables.append(_search(report))
    return [*tables, _summary(report)]


def sensitivity_tables(found: Sensitivity) -> list[Table]:
    """Nodes by what each costs, the most harmful first."""
    columns = (
        Column("name", "node", "name"), Column("op", "op"), Column("sqnr_db", "alone in 8 bits", "db"), Column("macs", "MACs", "count"),
        Column("intensity", "MACs per element", "number"), Column("is_default", "preset"),
    )  # fmt: skip
    rows = tuple(
        (n.name, n.op, n.sqnr_db, n.macs, n.intensity, "takes it" if n.is_default else "") for n in found.nodes
    )
    caption = f"the preset's nodes together: {found.all_db:.1f} dB, {found.samples} samples of {found.data}. {found.seconds:.1f} s."
    return [Table("", columns, rows, caption)]


def _findings(report: QuantizeReport) -> Table:
    grouped = Counter((f.code, f.level, f.title, f.message, f.hint) for f in report.findings)
    first = {(f.code, f.message): f.node for f in reversed(report.findings)}
    columns = (
        Column("code", "code"), Column("level", "level"), Column("places", "places", "count"), Column("node", "for example", "name"), Column("message", "what", "name"),
    )  # fmt: skip
    rows = tuple(
        (code, level, n, first[code, text], f"{title}: {text}") for (code, level, title, text, _), n in grouped.items()
    )
    return Table("", columns, rows)


WORST = 5


def _worst(report: QuantizeReport) -> Table:
    """The values that 8 bits keep least of."""
    known = sorted((t for t in report.tensors if t.sqnr_db is not None), key=lambda t: t.sqnr_db or 0.0)[:WORST]
    columns = (
        Column("name", "worst values", "name"), Column("sqnr_db", "SQNR", "db"), Column("low", "from", "number"), Column("high", "to", "number"),
    )  # fmt: skip
    return Table("", columns, tuple((t.name, t.sqnr_db, t.low, t.high) for t in known))


def _search(report: QuantizeReport) -> Table:
    columns = (
        Column("nodes", "nodes in 8 bits", "count"), Column("share", "of the multiply-adds", "percent"), Column("db", "SQNR", "db"),
        Column("metric", "metric", "number"), Column("latency", "time", "percent"), Column("met", "target"),
    )  # fmt: skip
    total = report.macs_total or 1
    rows = tuple(
        (len(p.nodes), p.macs / total, p.db, p.metric, p.latency, "met" if p.met else "") for p in report.search
    )
    return Table("", columns, rows, f"{len(rows)} mixes tried")


def _summary(report: QuantizeReport) -> Table:
    share = report.macs_int8 / report.macs_total if report.macs_total else 0.0
    rows = (
        (
            "weights",
            units.size(report.before_bytes),
            units.size(report.after_bytes),
            change(report.before_bytes, report.after_bytes),
        ),
        (
            "weights, beside the optimized float model",
            units.size(report.optimized_bytes),
            units.size(report.after_bytes),
            change(report.optimized_bytes, report.after_bytes),
        ),
        ("nodes in 8 bits", "0", f"{len(report.nodes):,}", ""),
        (
            "multiply-adds in 8 bits",
            "0",
            f"{units.count(report.macs_int8)} of {units.count(report.macs_total)}",
            units.percent(share),
        ),
        ("QuantizeLinear, DequantizeLinear", "", f"{report.quantize_linear:,}, {report.dequantize_linear:,}", ""),
        ("opset", str(report.opset[0]), str(report.opset[1]), ""),
    )
    columns = (Column("what", ""), Column("before", "before"), Column("after", "after"), Column("change", ""))
    caption = f"{report.mode} {report.format}, activations {report.activations}, weights {report.weights}, {report.method}; {report.data}. {report.seconds:.1f} s."
    return Table("", columns, rows, caption)
