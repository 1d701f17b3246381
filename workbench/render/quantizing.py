"""A quantization's report as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from exec.wording import counted
from quantize.calibration import CalibrationReport
from quantize.findings import Finding
from quantize.probing import TensorSensitivity
from quantize.report import QuantizedTensor, QuantizeReport, Timing
from quantize.sensitivity import Sensitivity
from workbench.render import units
from workbench.render.optimizing import change
from workbench.render.table import Column, Table


def quantize_tables(report: QuantizeReport) -> list[Table]:
    """Findings by kind, outputs, and what changed (the main table)."""
    tables = []
    if report.findings:
        tables.append(_findings(report.findings))
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
    if report.timing is not None:
        tables.append(_times(report.timing))
    if report.search:
        tables.append(_search(report))
    return [*tables, _summary(report)]


def sensitivity_tables(found: Sensitivity) -> list[Table]:
    """Values and nodes by what each costs, the most harmful first."""
    caption = f"the preset's nodes together: {found.all_db:.1f} dB, {counted(found.samples, 'sample')} of {found.data}. {found.seconds:.1f} s."
    columns = (
        Column("name", "node", "name"), Column("op", "op", spare=1), Column("sqnr_db", "alone in 8 bits", "db"), Column("macs", "MACs", "count", spare=2),
        Column("intensity", "MACs per element", "number", spare=3), Column("is_default", "preset"),
    )  # fmt: skip
    rows = tuple(
        (n.name, n.op, n.sqnr_db, n.macs, n.intensity, "takes it" if n.is_default else "") for n in found.nodes
    )
    nodes = Table("", columns, rows, caption)
    if not found.tensors:
        return [nodes]
    values = _sensitive_values(found.tensors, "" if found.nodes else caption)
    return [values, nodes] if found.nodes else [values]


def _sensitive_values(tensors: Sequence[TensorSensitivity], caption: str) -> Table:
    """One row a value: what it does to the worst output, and to the worst part of it."""
    columns = (
        Column("name", "value", "name"), Column("op", "made by", spare=2), Column("sqnr_db", "alone in 8 bits", "db"),
        Column("kept_db", "of the value itself", "db", spare=3), Column("output", "worst output", "name", spare=4), Column("cosine", "cosine", "number", spare=5),
        Column("max_abs", "max diff", "number", spare=6), Column("worst_slice_db", "worst slice", "db", spare=1), Column("is_default", "preset"),
    )  # fmt: skip
    rows = []
    for t in tensors:
        worst = min(t.outputs, key=lambda o: o.sqnr_db)
        slices = min(worst.slices_db, default=None)
        rows.append((t.name, t.op or "input", t.sqnr_db, t.kept_db, worst.name, worst.cosine, worst.max_abs, slices, "in 8 bits" if t.is_default else ""))  # fmt: skip
    return Table("", columns, tuple(rows), caption)


def _findings(findings: Sequence[Finding]) -> Table:
    """One row a kind, warnings first: the places, and what is said of the first of them."""
    kinds: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        kinds.setdefault((finding.code, finding.level), []).append(finding)
    columns = (
        Column("code", "code"), Column("level", "level"), Column("places", "places", "count"), Column("node", "for example", "name"), Column("message", "what", wrap=True),
    )  # fmt: skip
    rows = tuple(
        (code, level, len(found), found[0].node, _sentence(found))
        for (code, level), found in sorted(kinds.items(), key=lambda kind: _LEVELS.index(kind[0][1]))
    )
    return Table("", columns, rows)


def _sentence(found: Sequence[Finding]) -> str:
    hint = f" ({found[0].hint})" if found[0].hint else ""
    return f"{found[0].title}: {found[0].message}{hint}"


WORST = 5
_BARS = "▁▂▃▄▅▆▇█"
_LEVELS = ("error", "warning", "note")


def _worst(report: QuantizeReport) -> Table:
    """The values that 8 bits keep least of."""
    known = sorted((t for t in report.tensors if t.sqnr_db is not None), key=lambda t: t.sqnr_db or 0.0)[:WORST]
    return _values(known, "worst values")


def calibration_tables(found: CalibrationReport) -> list[Table]:
    """What was remarked, and every range with its histogram."""
    values = _values(found.tensors, "value")
    caption = f"{counted(len(found.tensors), 'value')}, {counted(found.samples, 'sample')} of {found.data}, {found.method}, {found.preset}. {found.seconds:.1f} s."
    table = Table("", values.columns, values.rows, caption)
    return [_findings(found.findings), table] if found.findings else [table]


def _values(tensors: Sequence[QuantizedTensor], title: str) -> Table:
    columns = (
        Column("name", title, "name"), Column("sqnr_db", "SQNR", "db"), Column("low", "from", "number"), Column("high", "to", "number"),
        Column("seen_low", "seen from", "number"), Column("seen_high", "to", "number"), Column("histogram", "histogram"),
    )  # fmt: skip
    return Table("", columns, tuple((t.name, t.sqnr_db, t.low, t.high, *t.seen, bars(t.picture)) for t in tensors))


def bars(counts: Sequence[int]) -> str:
    """A histogram as a line of blocks, by the logarithm of the counts."""
    top = math.log1p(max(counts, default=0))
    return "".join(" " if not n else _BARS[min(int(math.log1p(n) / top * len(_BARS)), len(_BARS) - 1)] for n in counts)


MOST_TIMED = 12
_CONVERSIONS = ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")


def _times(found: Timing) -> Table:
    """Nodes whose time changed most."""
    columns = (
        Column("name", "node", "name"), Column("op", "op"), Column("before_ns", "before", "ns"), Column("after_ns", "after", "ns"), Column("saved_ns", "saved", "ns"),
    )  # fmt: skip
    rows = tuple(
        (n.name, n.op, n.before_ns, n.after_ns, (n.before_ns or 0) - (n.after_ns or 0))
        for n in found.nodes[:MOST_TIMED]
    )
    conversions = sum(n.after_ns or 0 for n in found.nodes if n.op in _CONVERSIONS)
    rest = len(found.nodes) - len(rows)
    caption = f"{found.engine}, one thread. {counted(rest, 'more node')} in --json; conversions take {units.duration(conversions)}."
    return Table("", columns, rows, caption)


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


def _time_rows(found: Timing | None) -> tuple[tuple[str, str, str, str], ...]:
    if found is None:
        return ()
    before = found.float_ms * 1e6 / (found.of_original / found.of_optimized)
    optimized, after = found.float_ms * 1e6, found.float_ms * 1e6 * found.of_optimized
    return tuple(
        (
            what,
            units.duration(old),
            units.duration(after),
            f"{1 - share:.0%} saved" if share < 1 else f"{share - 1:.0%} more",
        )
        for what, old, share in (
            (f"time in {found.engine}", before, found.of_original),
            ("time, beside the optimized float model", optimized, found.of_optimized),
        )
    )


_TAKEN = {
    "static": "nodes in 8 bits",
    "dynamic": "nodes in 8 bits",
    "weight-only": "nodes with weights in {}, products in float",
}


def _how(report: QuantizeReport) -> str:
    """What was chosen, as far as the mode has it."""
    if report.mode == "weight-only":
        return f"float activations, weights {report.weights}"
    if report.mode == "dynamic":
        return f"activations u8 by each run's range, weights {report.weights}"
    return f"activations {report.activations}, weights {report.weights}, {report.method}"


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
        (_TAKEN[report.mode].format(report.weights), "0", f"{len(report.nodes):,}", ""),
        (
            "multiply-adds in 8 bits",
            "0",
            f"{units.count(report.macs_int8)} of {units.count(report.macs_total)}",
            units.percent(share),
        ),
        ("QuantizeLinear, DequantizeLinear", "", f"{report.quantize_linear:,}, {report.dequantize_linear:,}", ""),
        *_time_rows(report.timing),
        ("opset", str(report.opset[0]), str(report.opset[1]), ""),
    )
    columns = (Column("what", ""), Column("before", "before"), Column("after", "after"), Column("change", ""))
    caption = f"{report.mode} {report.format}, {_how(report)}; {report.data}. {report.seconds:.1f} s."
    return Table("", columns, rows, caption)
