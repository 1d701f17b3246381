"""One self-contained page: no script, no font, no picture from elsewhere; every name is escaped."""

from __future__ import annotations

import html
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from exec.timing import Profile
from exec.wording import counted
from workbench.card import Summary
from workbench.changes import ChangeReport
from workbench.comparison import Comparison
from workbench.render import units
from workbench.render.text import display_name

_STYLE = """
:root { color-scheme: light dark; --fg: #1f2630; --bg: #fbfaf7; --dim: #5b6673; --line: #d5d8dc; --a: #0a5bb5; --b: #c06000; --bad: #8f0d1e; --ok: #006b5b }
@media (prefers-color-scheme: dark) { :root { --fg: #d7dde5; --bg: #12161c; --dim: #8b97a6; --line: #2c3540; --a: #7cb7ff; --b: #ffb454; --bad: #ff6f61; --ok: #4fc9b0 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--fg); background: var(--bg); max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem; border-bottom: 1px solid var(--line) }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums } th { text-align: left; color: var(--dim); font-weight: 500 }
td, th { padding: .2rem .6rem .2rem 0; border-bottom: 1px solid var(--line); vertical-align: top } td.n, th.n { text-align: right }
.bar { display: inline-block; height: .7rem; background: var(--a); vertical-align: middle } .bar.b { background: var(--b) }
.dim { color: var(--dim) } .bad { color: var(--bad) } .ok { color: var(--ok) } code { font-family: ui-monospace, monospace; font-size: .9em; word-break: break-all }
svg { width: 100%; height: auto } svg text { fill: var(--dim); font: 11px system-ui } .scroll { overflow-x: auto }
"""


def page(report: ChangeReport) -> str:
    """The whole page."""
    before, after = report.before, report.after
    title = f"{_name(before)} → {_name(after)}"
    parts = [
        f"<h1>{_text(title)}</h1>", f"<p>{_verdict(report)}</p>", "<h2>Before and after</h2>", _facts(report), "<h2>Operators</h2>", _operators(report),
        "<h2>Outputs</h2>", _outputs(report.comparison), "<h2>Agreement along the model</h2>", _plot(report.comparison), "<h2>Slowest nodes</h2>",
        _slowest(report.profiles[0], "A", "a"), _slowest(report.profiles[1], "B", "b"), "<h2>What changed</h2>", _changes(report),
    ]  # fmt: skip
    body = "\n".join(parts)
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{_text(title)}</title><style>{_STYLE}</style>\n{body}\n</html>\n'


def _text(value: object) -> str:
    return html.escape(display_name(str(value)))


def _name(card: Summary) -> str:
    return (card.path or card.name or "model").rpartition("/")[2]


def _verdict(report: ChangeReport) -> str:
    comparison, (a, b) = report.comparison, report.profiles
    agree = (
        '<b class="ok">The outputs agree</b> within'
        if comparison.equal
        else '<b class="bad">An output differs</b> by more than'
    )
    change = b.wall_ns / a.wall_ns - 1 if a.wall_ns else 0.0
    word = "faster" if change < 0 else "slower"
    return (
        f"{agree} {comparison.tolerance:.0e} of their range. B is {abs(change):.1%} {word} than A in {_text(report.engine)} "
        f"({units.duration(b.wall_ns)} against {units.duration(a.wall_ns)}, {a.threads} thread, median of {counted(a.runs, 'run')}{'' if a.noise.quiet and b.noise.quiet else '; the machine was busy'})."
    ).replace("%", " %")


def _table(heads: Sequence[tuple[str, bool]], rows: Iterable[Sequence[str]]) -> str:
    """(title, is a number) a column; cells are HTML already."""
    head = "".join(f'<th class="n">{_text(t)}</th>' if n else f"<th>{_text(t)}</th>" for t, n in heads)
    body = "".join(
        "<tr>"
        + "".join(f'<td class="n">{c}</td>' if heads[k][1] else f"<td>{c}</td>" for k, c in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def _facts(report: ChangeReport) -> str:
    a, b = report.before, report.after
    p, q = report.profiles
    rows = [
        ("file", units.size(a.file_bytes), units.size(b.file_bytes)), ("nodes", f"{a.nodes:,}", f"{b.nodes:,}"),
        ("Constant nodes", f"{a.constant_nodes:,}", f"{b.constant_nodes:,}"), ("parameters", units.count(a.parameters), units.count(b.parameters)),
        ("weights", units.size(a.weight_bytes), units.size(b.weight_bytes)), ("opset", str(a.opsets.get("", "–")), str(b.opsets.get("", "–"))),
        ("quantization", a.quantization, b.quantization), ("time", units.duration(p.wall_ns), units.duration(q.wall_ns)),
        ("peak memory of values", units.size(p.peak_bytes), units.size(q.peak_bytes)),
    ]  # fmt: skip
    return _table((("", False), ("A", True), ("B", True)), [[_text(c) for c in row] for row in rows])


def _operators(report: ChangeReport) -> str:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for side, card in enumerate((report.before, report.after)):
        for row in card.operators:
            counts[row.op][side] += row.nodes
    most = max((max(c) for c in counts.values()), default=1)
    rows = []
    for op, (a, b) in sorted(counts.items(), key=lambda item: -max(item[1])):
        bars = f'<span class="bar" style="width:{12 * a / most:.2f}rem"></span><br><span class="bar b" style="width:{12 * b / most:.2f}rem"></span>'
        rows.append([_text(op), f"{a:,}", f"{b:,}", bars])
    return _table((("operator", False), ("A", True), ("B", True), ("", False)), rows)


def _outputs(result: Comparison) -> str:
    rows = [
        [f"<code>{_text(o.name)}</code>", _text(units.decibel(o.sqnr_db)), f"{o.cosine:.6f}", f"{o.max_abs:.3g}", f"{o.share:.1e}", '<span class="ok">agrees</span>' if o.within else '<span class="bad">differs</span>', _text(o.note)]
        for o in result.outputs
    ]  # fmt: skip
    first = (
        ""
        if result.first is None
        else f"<p>First value to differ: <code>{_text(result.first.after)}</code> of {_text(result.first.op)}.</p>"
    )
    return (
        _table(
            (
                ("output", False),
                ("SQNR", True),
                ("cosine", True),
                ("max diff", True),
                ("of range", True),
                ("", False),
                ("", False),
            ),
            rows,
        )
        + first
    )


def _plot(result: Comparison) -> str:
    """SQNR of every aligned value in execution order; 100 dB and more is the top."""
    points = [(k, max(min(v.sqnr_db, 100.0), 0.0)) for k, v in enumerate(result.values) if not math.isnan(v.sqnr_db)]
    if not points:
        return '<p class="dim">No value is in both models.</p>'
    width, height, count = 900, 180, max(len(result.values) - 1, 1)
    path = " ".join(
        f"{40 + k / count * (width - 50):.1f},{10 + (100 - db) / 100 * (height - 30):.1f}" for k, db in points
    )
    lines = "".join(
        f'<line x1="40" x2="{width - 10}" y1="{y}" y2="{y}" stroke="var(--line)"/><text x="0" y="{y + 4}">{db} dB</text>'
        for db in (100, 50, 0) for y in [10 + (100 - db) / 100 * (height - 30)]
    )  # fmt: skip
    caption = f'<text x="40" y="{height - 2}">{counted(len(points), "value")} in the order B computes them</text>'
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="agreement along the model">{lines}<polyline fill="none" stroke="var(--b)" stroke-width="1.5" points="{path}"/>{caption}</svg>'


def _slowest(profile: Profile, slot: str, css: str) -> str:
    top = profile.slowest(10)
    most = max((n.median_ns for n in top), default=1) or 1
    rows = [
        [f"<code>{_text(n.name or n.op)}</code>", _text(n.op), _text(units.duration(n.median_ns)), _text(units.percent(n.share)), f'<span class="bar {css}" style="width:{10 * n.median_ns / most:.2f}rem"></span>']
        for n in top
    ]  # fmt: skip
    return f"<h3>{slot}</h3>" + _table(
        (("node", False), ("operator", False), ("median", True), ("share", True), ("", False)), rows
    )


def _changes(report: ChangeReport) -> str:
    delta = report.delta
    facts = f"<p>{counted(delta.same, 'node')} the same, {len(delta.added):,} new, {len(delta.removed):,} gone, {len(delta.changed):,} changed, {counted(len(delta.weights), 'other weight')}.</p>"
    notes = "".join(f"<li>{_text(line)}</li>" for line in (*delta.interface, *delta.model))
    fused = (
        _table(
            (("node of B", False), ("made of", False)),
            [[f"<code>{_text(n)}</code>", f"<code>{_text(', '.join(s))}</code>"] for n, s in delta.fused[:50]],
        )
        if delta.fused
        else ""
    )
    return facts + (f"<ul>{notes}</ul>" if notes else "") + fused
