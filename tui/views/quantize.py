"""5 Quantize: what each node costs in 8 bits, a plan, and what it gives; try, look, then apply."""

from __future__ import annotations

import math
import shlex
import textwrap
from typing import Any

from textual.app import ComposeResult

from exec.wording import counted
from quantize.placement import COMPUTE
from quantize.report import QuantizeReport, QuantizeResult
from quantize.sensitivity import NodeSensitivity, Sensitivity
from tui import columns
from tui.columns import Column
from tui.dialogs.scheme import Scheme, SchemeDialog
from tui.glyphs import bar
from tui.line import Line, Span, fit, section
from tui.numbers import decibels, number
from tui.theme import HEAT_GLYPHS, heat_of_sqnr, operator_token
from tui.views.steps import checked
from tui.views.view import Pane, View
from tui.widgets.frame import Heads, Seam
from tui.widgets.lines import Text
from tui.widgets.rows import Rows
from workbench.history import Step
from workbench.nodes import graphs
from workbench.render import units
from workbench.render.text import display_name
from workbench.whatif import between, curve, just_enough, weight_share, what_if

_COLUMNS = (
    Column("", 1), Column("node", 0, keep="end"), Column("kind", 13, rank=2), Column("alone dB", 8, right=True), Column("", 9, rank=3), Column("", 1),
    Column("MACs", 8, right=True, rank=4), Column("int8", 8, rank=1),
)  # fmt: skip
_BAR_DB = 60.0
_LABEL = 14


class QuantizeView(View):
    """Nodes, the most harmful first; the plan moves with space, + and −, and its result stands beside at once.

    Shows    a `Sensitivity`, a `WhatIf` of the plan (≈) or the `QuantizeReport` of trying it
    Sends    Rank(scheme) on r, Try(plan) when it moves, ToTarget on =, Quantize(plan) as a step on a
    Empty    says which key ranks, and on what data
    """

    TITLE = "Quantize"
    KEYS = ("mark.toggle", "amount.more", "amount.less", "plan.to-target", "change.apply", "run.now", "run.options", "explain.open", "history.undo", "copy.as")  # fmt: skip
    DEFAULT_CSS = "QuantizeView #tried { width: 58; }"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scheme = Scheme()
        self.found: Sensitivity | None = None
        self.kept: set[str] = set()
        self.tried: dict[frozenset[str], QuantizeResult] = {}
        self.key = 0

    def compose(self) -> ComposeResult:
        yield Pane("Sensitivity", Heads(lambda: _COLUMNS), Rows("tried-text", id="plan-rows"), id="plan")
        yield Seam("plan").add_class("side")
        yield Pane("What if", Text(id="tried-text"), id="tried").add_class("side")

    def fill(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        if bench.key("B") != self.key:
            self.key, self.found, self.kept, self.tried = bench.key("B"), None, set(), {}
        self._show()
        if self.found is None:
            self.say(
                self.why_not("run.now")
                or f"r ranks B's nodes by what 8 bits do to the outputs, on {self._data().partition(' (')[0]}"
            )

    def _data(self) -> str:
        data = self.owb.bench.data if self.owb.bench is not None else None
        return "generated samples (owb MODEL --data FILE gives real ones)" if data is None else f"{data} generated samples" if isinstance(data, int) else str(data)  # fmt: skip

    @property
    def result(self) -> QuantizeResult | None:
        """The plan as it was tried, None while it is only estimated."""
        return self.tried.get(frozenset(self.kept))

    def _show(self) -> None:
        nodes = self.found.nodes if self.found is not None else ()
        detail = f"{counted(len(nodes), 'node')} · worst first" if self.found is not None else "not ranked yet"
        self.query_one("#plan", Pane).rule.name_pane("Sensitivity", detail)
        self.query_one(Rows).show(len(nodes), self._row)
        self.query_one("#tried", Pane).rule.name_pane("What if", f"kept float {len(self.kept)} of {len(nodes)}" if nodes else "")  # fmt: skip
        self.query_one("#tried-text", Text).show(self._what_if)
        self.owb.refresh_footer()

    def _row(self, row: int, width: int) -> Line:
        assert self.found is not None
        node = self.found.nodes[row]
        floating = node.name in self.kept
        heat = heat_of_sqnr(node.sqnr_db) or 0
        mark: Span = ("F", "strong") if floating else ("8", "cat.quant")
        s = self.scheme
        cells: list[Any] = [
            mark, (display_name(node.name), "strong" if floating else "fg"), (display_name(node.op), operator_token(node.op, "")),
            ("∞" if math.isinf(node.sqnr_db) else number(node.sqnr_db, ".1f"), "fg"), (bar(min(max(node.sqnr_db, 0.0) / _BAR_DB, 1.0), 9), f"heat.{heat}"), (HEAT_GLYPHS[heat], f"heat.{heat}"),
            (units.count(node.macs), "dim"), ("float" if floating else f"{s.activations} {s.weights}", "dim"),
        ]  # fmt: skip
        return columns.row(_COLUMNS, cells, width)

    # ── beside ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _what_if(self, width: int) -> list[Line]:
        s = self.scheme
        refused = self.why_not("run.now")
        if self.found is None and refused and "sensitivity" not in self.owb.bridge.jobs:
            return [[], [(" Nothing to rank.", "strong")], [], *([(f" {part}", "fg")] for part in textwrap.wrap(refused, max(width - 2, 20)))]  # fmt: skip
        if self.found is None:
            return [
                [], [(" Not ranked yet.", "strong")], [], [(" r ", "focus"), ("choose the scheme, enter ranks every node", "fg")],
                [], *([(f" {part}", "dim")] for part in textwrap.wrap(f"data: {self._data()}", max(width - 2, 20))),
            ]  # fmt: skip
        found, report = self.found, self.result.report if self.result is not None else None
        whole = self.tried.get(frozenset(n.name for n in found.nodes if not n.is_default))
        estimate = what_if(found, self.kept)
        out: list[Line] = [
            [(f" {fit('scheme', _LABEL)}", "dim"), (f"static QDQ, {s.preset}   R changes", "fg")],
            [(f" {fit('', _LABEL)}", "dim"), (f"act {s.activations}   weights {s.weights} per channel", "fg")],
            *_wrapped("judged on", f"{found.samples} of {found.data}", width),
            [(f" {fit('target', _LABEL)}", "dim"), (f"≥ {s.target_db:.0f} dB", "fg")],
            [],
            [(" " * (_LABEL + 1), "dim"), (fit("B now", 11, right=True), "slot.b"), (fit("all int8", 12, right=True), "dim"), (fit("this plan", 13, right=True), "strong")],
        ]  # fmt: skip

        def line(label: str, now: str, every: str, plan: str, token: str = "fg") -> None:
            out.append([(f" {fit(label, _LABEL)}", "dim"), (fit(now, 11, right=True), "fg"), (fit(every, 12, right=True), "fg"), (fit(plan, 13, right=True), token)])  # fmt: skip

        measured = min((o.sqnr_db for o in report.outputs), default=math.inf) if report is not None else None
        good = (measured if measured is not None else estimate.sqnr_db) >= s.target_db
        plan = decibels(measured) if measured is not None else f"≈ {decibels(estimate.sqnr_db)}"
        line("output SQNR", "–", decibels(found.all_db), f"{plan} {'✓' if good else '▲'}", "ok" if good else "warn")
        all_report = whole.report if whole is not None else None
        known = all_report or report
        line("weights", units.size(known.before_bytes) if known else "–", units.size(all_report.after_bytes) if all_report else "–", self._weights(report, all_report))  # fmt: skip
        now, every, planned = self._times(report, all_report, estimate.macs_int8)
        line("time", now, every, planned)
        line("MACs in int8", "0.0 %", units.percent(what_if(found, {n.name for n in found.nodes if not n.is_default}).macs_int8), ("" if report else "≈ ") + units.percent(report.macs_int8 / report.macs_total if report and report.macs_total else estimate.macs_int8))  # fmt: skip
        line("Q · DQ", "0", f"{all_report.quantize_linear} · {all_report.dequantize_linear}" if all_report else "–", f"{report.quantize_linear} · {report.dequantize_linear}" if report else "–")  # fmt: skip
        if report is not None:
            for o in report.outputs[:4]:
                agree = "" if o.agreement is None else f"  same class {units.percent(o.agreement)}"
                out.append([(f"   {fit(display_name(o.name), 12)}", "dim"), (f"cosine {o.cosine:.5f}{agree}", "fg")])
        state = "measured ✓" if report is not None else "◐ trying" if "quantize" in self.owb.bridge.jobs else "estimated: noise powers add up"  # fmt: skip
        out += [
            [(f" {state}", "ok" if report is not None else "warn")],
            section(" output SQNR against nodes kept float"),
        ]
        out += self._curve(width)
        if report is not None:
            out += self._findings(report, width)
        return out

    def _weights(self, report: QuantizeReport | None, whole: QuantizeReport | None) -> str:
        """The plan's weights: as tried, else in proportion to what all of it saves."""
        bench, found = self.owb.bench, self.found
        if report is not None:
            return units.size(report.after_bytes)
        if whole is None or bench is None or found is None:
            return "≈ –"
        return f"≈ {units.size(between(whole.before_bytes, whole.after_bytes, weight_share(bench.model('B'), found, self.kept)))}"  # fmt: skip

    @staticmethod
    def _times(report: QuantizeReport | None, whole: QuantizeReport | None, macs_int8: float) -> tuple[str, str, str]:
        """One run of B, of all int8 and of the plan: as measured, else in proportion to the MACs in 8 bits."""

        def both_ns(known: QuantizeReport | None) -> tuple[float, float] | None:
            if known is None or known.timing is None:
                return None
            after = known.timing.float_ms * 1e6 * known.timing.of_optimized
            return after / known.timing.of_original, after

        plan, every = both_ns(report), both_ns(whole)
        first = every or plan
        if first is None:
            return "–", "–", "–" if report is not None else "≈ –"
        now = units.duration(first[0])
        if plan is not None:  # each was measured beside the float model: the ratios compare, not the milliseconds
            return now, units.duration(every[1]) if every else "–", units.duration(first[0] * plan[1] / plan[0])
        return now, units.duration(first[1]), f"≈ {units.duration(between(*first, macs_int8))}"

    def _curve(self, width: int) -> list[Line]:
        """Estimated dB over the worst nodes kept; the plan and the target are drawn."""
        assert self.found is not None
        values = [v for v in curve(self.found) if math.isfinite(v)]
        if not values:
            return []
        cells = max(width - 10, 8)
        points = [values[min(len(values) * k // cells, len(values) - 1)] for k in range(min(cells, len(values)))]
        top, low, rows = max(*points, self.scheme.target_db) + 1, min(*points, self.scheme.target_db) - 1, 7
        at = min(len(self.kept) * len(points) // max(len(values), 1), len(points) - 1)
        goal = round((top - self.scheme.target_db) / (top - low) * (rows - 1))
        out: list[Line] = []
        for r in range(rows):
            text = ""
            for k, v in enumerate(points):
                here = round((top - v) / (top - low) * (rows - 1)) == r
                text += ("●" if k == at else "·") if here else ("│" if k == at else "╌" if r == goal else " ")  # fmt: skip
            value = top - (top - low) * r / (rows - 1)
            out.append([(fit(f"{value:.0f}", 5, right=True) + " ┤", "dim"), (text, "focus" if r != goal else "warn")])
        out.append(
            [(" dB" + " " * 4, "dim"), (f"0 … {len(values) - 1} of the worst nodes kept float; ╌ target", "dim")]
        )
        return out

    def _findings(self, report: QuantizeReport, width: int) -> list[Line]:
        out: list[Line] = [section(" findings")]
        for f in [f for f in report.findings if not f.title.startswith("kept float")][:12]:
            token = {"error": "bad", "warning": "warn", "note": "dim"}[f.level]
            text = display_name(f"{f.code} {f.node} {f.title}: {f.message}")
            out += [[(f" {part}", token)] for part in textwrap.wrap(text, max(width - 2, 20))]
        return out

    # ── actions ────────────────────────────────────────────────────────────────────────────────────────────────────

    def current(self) -> NodeSensitivity | None:
        """The node under the cursor."""
        return self.found.nodes[self.query_one(Rows).cursor] if self.found is not None and self.found.nodes else None

    def why_not(self, action_id: str) -> str:
        bench = self.owb.bench
        if action_id in ("run.now", "run.options", "change.apply") and bench is not None and bench.why_not_change():
            return bench.why_not_change()
        match action_id:
            case "run.now" | "run.options":
                if "sensitivity" in self.owb.bridge.jobs:
                    return "already ranking: ctrl+c stops it"
                model = bench.model("B") if bench is not None else None
                if model is not None and not any(n.op in COMPUTE for n in model.graph.nodes):
                    below = any(n.op in COMPUTE for _, graph in graphs(model) for n in graph.nodes)
                    return "B has Conv, Gemm or MatMul only below If, Loop or in functions: 4 A brings out what it can" if below else "B has no Conv, Gemm or MatMul"  # fmt: skip
            case "change.apply":
                if self.found is None:
                    return "nothing ranked yet: r ranks the nodes"
                if len(self.kept) == len(self.found.nodes):
                    return "the plan keeps every node float"
            case "mark.toggle" | "plan.to-target" | "explain.open" | "copy.name" | "open.row":
                if self.found is None:
                    return "nothing ranked yet: r ranks the nodes"
            case "amount.more":
                if self.found is None or len(self.kept) == len(self.found.nodes):
                    return "nothing ranked yet: r ranks the nodes" if self.found is None else "every node is float"
            case "amount.less":
                if not self.kept:
                    return "at the least: no node is kept float"
        return ""

    def footer(self) -> list[tuple[str, str, bool]]:
        named = {"mark.toggle": "float or int8", "amount.more": "keep more", "amount.less": "fewer", "change.apply": "apply plan", "run.now": "rank again" if self.found is not None else "rank", "run.options": "scheme", "explain.open": "why"}  # fmt: skip
        return [(a, named.get(a, ""), not (self.why_not(a) or self.owb.why_not(a))) for a in self.KEYS]

    def do_run_now(self) -> None:
        self.do_run_options()

    def do_run_options(self) -> None:
        given = self.owb.bench.data if self.owb.bench is not None else None
        self.app.push_screen(
            SchemeDialog(self.scheme, self._data(), given if isinstance(given, str) else ""), self._rank
        )

    def _rank(self, scheme: Scheme | None) -> None:
        bench = self.owb.bench
        if scheme is None or bench is None:
            return
        self.scheme, self.tried = scheme, {}
        if scheme.data:
            bench.data = scheme.data
        elif isinstance(bench.data, str):
            bench.data = None
        options = scheme.options()

        def ranked(found: Sensitivity) -> None:
            self.found = found
            self.kept = {n.name for n in found.nodes if not n.is_default}
            self._show()
            if len(self.kept) == len(found.nodes):
                self.say(
                    f"the preset {scheme.preset} takes no node: space takes one all the same, R chooses full", "warn"
                )
                return
            self.owb.toasts.done(
                f"{counted(len(found.nodes), 'node')} ranked: all in 8 bits gives {decibels(found.all_db)}"
            )
            self.say(self.sentence())
            self._try()

        self.owb.bridge.run("sensitivity", "ranking nodes", lambda p, c: bench.sensitivity(progress=p, cancel=c, **options), ranked)  # fmt: skip

    def _moved(self) -> None:
        """The plan is another one: an estimate at once, the measured value when it is there."""
        self._show()
        if self.result is None:
            self._try()

    def _try(self, then: Any = None) -> None:
        bench, plan, options = self.owb.bench, frozenset(self.kept), self._options()
        assert bench is not None

        def tried(result: QuantizeResult) -> None:
            self.tried[plan] = result
            self._show()
            if then is not None:
                then(result)

        self.owb.bridge.run("quantize", "trying the plan", lambda p, c: bench.try_quantize(progress=p, cancel=c, timed=True, **options), tried, quiet=then is None)  # fmt: skip
        self.query_one("#tried-text", Text).show(self._what_if)

    def _options(self) -> dict[str, Any]:
        """The plan as `quantize` takes it: nodes the preset takes and the plan keeps float are excluded, others it adds are included."""
        assert self.found is not None
        out: dict[str, Any] = dict(self.scheme.options())
        left = sorted(n.name for n in self.found.nodes if n.is_default and n.name in self.kept)
        added = [n.name for n in self.found.nodes if not n.is_default and n.name not in self.kept]
        if added:
            out["include"] = sorted(n.name for n in self.found.nodes if n.name not in self.kept)
        elif left:
            out["exclude"] = left
        return out

    def do_mark_toggle(self) -> None:
        node = self.current()
        assert node is not None
        self.kept ^= {node.name}
        self.query_one(Rows).move(1)
        self._moved()

    def do_amount_more(self) -> None:
        assert self.found is not None
        self.kept.add(next(n.name for n in self.found.nodes if n.name not in self.kept))
        self._moved()

    def do_amount_less(self) -> None:
        assert self.found is not None
        kept = [n for n in self.found.nodes if n.name in self.kept]
        self.kept.discard(next((n for n in reversed(kept) if n.is_default), kept[-1]).name)
        self._moved()

    def do_plan_to_target(self) -> None:
        assert self.found is not None
        self.kept = just_enough(self.found, self.scheme.target_db)
        self._moved()
        self.owb.say(f"{len(self.kept)} of {len(self.found.nodes)} kept float for {self.scheme.target_db:.0f} dB; a applies")  # fmt: skip

    def do_change_apply(self) -> None:
        from tui.dialogs.confirm import ConfirmDialog

        assert self.found is not None
        plan = what_if(self.found, self.kept)
        report = self.result.report if self.result is not None else None
        worst = f"{decibels(min(o.sqnr_db for o in report.outputs))} at the worst output, measured" if report is not None and report.outputs else f"≈ {decibels(plan.sqnr_db)}, measured when it is applied"  # fmt: skip
        lines = [f"{counted(len(self.found.nodes) - plan.kept, 'node')} in 8 bits, {plan.kept} kept float", worst]
        self.app.push_screen(ConfirmDialog("Quantize B", lines, "applies the plan as a step", self.copy_command()), lambda yes: self._apply() if yes else None)  # fmt: skip

    def _apply(self) -> None:
        if self.result is not None:
            self._keep(self.result)
        else:
            self._try(self._keep)

    def _keep(self, result: QuantizeResult) -> None:
        bench = self.owb.bench
        assert bench is not None
        step: Step = bench.keep_quantized(result, **self._options())
        self.owb.state_changed()
        self.say(
            f"step {step.info.number}: {counted(len(result.report.nodes), 'node')} in 8 bits; z undoes, 7 r compares"
        )
        self.owb.toasts.done(
            f"quantized: {counted(len(result.report.nodes), 'node')} in 8 bits, {checked(result.report)}   z undoes"
        )

    def do_explain_open(self) -> None:
        node = self.current()
        assert node is not None
        kept = next((f.message for f in (self.result.report.findings if self.result is not None else ()) if f.node == node.name), "")  # fmt: skip
        why = kept or ("the preset takes it" if node.is_default else "the preset leaves it float: 8 bits save little there")  # fmt: skip
        self.owb.say(f"{node.name}: alone {decibels(node.sqnr_db)}, {node.intensity:.0f} MACs an element; {why}")

    def on_rows_opened(self, message: Rows.Opened) -> None:
        node = self.current()
        if node is not None:
            self.owb.show_node_named(node.name)

    def sentence(self) -> str:
        found = self.found
        if found is None:
            return ""
        return f"all int8: {decibels(found.all_db)} at the worst output, {counted(len(found.nodes), 'node')} one by one in {found.seconds:.1f} s; = keeps just enough float for {self.scheme.target_db:.0f} dB"

    def copy_text(self) -> str:
        node = self.current()
        return node.name if node is not None else ""

    def copy_command(self) -> str:
        options = self._options() if self.found is not None else self.scheme.options()
        words = "".join(f" --{k} {shlex.quote(','.join(v) if isinstance(v, list) else str(v))}" for k, v in options.items())  # fmt: skip
        return f"owb quantize {self.shown_file()}{words} -o int8.onnx"

    def copy_python(self) -> str:
        options = self._options() if self.found is not None else self.scheme.options()
        given = "".join(f", {k}={v!r}" for k, v in options.items())
        return f"wb.quantize({self.shown_model()}, 'static'{given}).model"

    def copy_data(self) -> tuple[Any, str] | None:
        node = self.current()
        return (node, "sensitivity") if node is not None else None


def _wrapped(label: str, text: str, width: int) -> list[Line]:
    """A fact that may need several lines."""
    parts = textwrap.wrap(display_name(text, 400), max(width - _LABEL - 2, 20)) or [""]
    return [[(f" {fit(label if not k else '', _LABEL)}", "dim"), (part, "fg")] for k, part in enumerate(parts[:3])]
