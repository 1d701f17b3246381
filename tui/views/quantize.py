"""5 Quantize: which nodes get 8 bits, what it costs and saves; try, look, then apply."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

from textual.app import ComposeResult

from quantize.placement import COMPUTE
from quantize.report import QuantizeReport, QuantizeResult
from tui import columns
from tui.columns import Column
from tui.line import Line, Span, fit, section
from tui.theme import HEAT_GLYPHS, heat_of_share, operator_token
from tui.views.view import Pane, View
from tui.widgets.frame import Heads, Seam
from tui.widgets.lines import Text
from tui.widgets.rows import Rows
from workbench.history import Step
from workbench.render import units
from workbench.render.text import display_name

_PRESETS = ("balanced", "fast", "full")
_COLUMNS = (
    Column("", 1), Column("node", 0, keep="end"), Column("operator", 14, rank=1), Column("MACs", 9, right=True, rank=2), Column("", 1),
    Column("weight dB", 9, right=True, rank=3), Column("why not", 34, rank=1),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PlanRow:
    """A node that could get 8 bits: it does, or there is a reason."""

    name: str
    op: str
    macs: int
    weight_db: float | None
    chosen: bool
    why: str


class QuantizeView(View):
    """The plan: nodes in 8 bits and nodes kept float with the reason; the result of trying it beside.

    Shows    a `QuantizeReport` of the plan as tried
    Sends    Try(plan) on r, space and R; Quantize(plan) as a step on a
    Empty    says which key tries, and on what data
    """

    TITLE = "Quantize"
    KEYS = (
        "mark.toggle",
        "run.now",
        "run.options",
        "change.apply",
        "explain.open",
        "history.undo",
        "out.save",
        "copy.as",
    )
    DEFAULT_CSS = "QuantizeView #tried { width: 54; }"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.preset = 0
        self.excluded: set[str] = set()
        self.result: QuantizeResult | None = None
        self.rows: list[PlanRow] = []
        self.behind = False  # the plan has changed since it was tried

    def compose(self) -> ComposeResult:
        yield Pane("Plan", Heads(lambda: _COLUMNS), Rows(id="plan-rows"), id="plan")
        yield Seam("plan").add_class("side")
        yield Pane("Tried", Text(id="tried-text"), id="tried").add_class("side")

    def fill(self) -> None:
        self.result, self.rows, self.behind = None, [], False
        self.excluded = set()
        self._show()
        self.owb.say("r tries int8 on B: generated samples unless the session was started with --data")

    @property
    def report(self) -> QuantizeReport | None:
        """What the last try said."""
        return self.result.report if self.result is not None else None

    def _show(self) -> None:
        report = self.report
        if report is not None:
            chosen = [PlanRow(n.name, n.op, n.macs, n.weight_sqnr_db, True, "") for n in report.nodes]
            kept = [
                PlanRow(f.node, "", 0, None, False, f.message)
                for f in report.findings
                if f.title.startswith("kept float") and f.node
            ]
            self.rows = [*sorted(chosen, key=lambda r: -r.macs), *kept]
        count = sum(r.chosen for r in self.rows)
        detail = (
            f"{count} in 8 bits, {len(self.rows) - count} float · {_PRESETS[self.preset]}"
            if report is not None
            else "not tried yet"
        )
        self.query_one("#plan", Pane).rule.name_pane("Plan", detail)
        self.query_one(Rows).show(len(self.rows), self._row)
        self.query_one("#tried-text", Text).show(self._tried)
        self.owb.refresh_footer()

    def _row(self, row: int, width: int) -> Line:
        node, report = self.rows[row], self.report
        left_out = node.name in self.excluded
        share = node.macs / report.macs_total if report is not None and report.macs_total else None
        heat = heat_of_share(share) if node.macs else None
        mark: Span = ("8", "cat.quant") if node.chosen and not left_out else ("F", "dim")
        heat_span: Span = ("", "dim") if heat is None else (HEAT_GLYPHS[heat], f"heat.{heat}")
        cells: list[Any] = [
            mark, (display_name(node.name), "fg" if node.chosen and not left_out else "dim"), (display_name(node.op), operator_token(node.op, "")),
            (units.count(node.macs) if node.macs else "", "dim"), heat_span,
            ("" if node.weight_db is None else f"{node.weight_db:.1f}", "fg"), ("left out: r tries" if left_out else display_name(node.why), "dim"),
        ]  # fmt: skip
        return columns.row(_COLUMNS, cells, width)

    def _tried(self, width: int) -> list[Line]:
        report = self.report
        if report is None:
            return [
                [], [(" Not tried yet.", "strong")], [], [(" r     ", "focus"), ("try the preset on B", "fg")], [(" R     ", "focus"), ("another preset", "fg")],
                [(" space ", "focus"), ("leave a node float, then r", "fg")],
            ]  # fmt: skip
        out: list[Line] = [
            [(f" {fit(label, 14)}", "dim"), (display_name(text), "fg")] for label, text in self._facts(report)
        ]
        if self.behind:
            out.append([(" ≀ the plan has changed since: r tries it", "warn")])
        out.append(section(" outputs against the original"))
        out += [
            [(f" {fit(display_name(o.name), 18)}", "fg"), (units.decibel(o.sqnr_db), "strong"), (f"   cosine {o.cosine:.5f}", "dim")]
            for o in report.outputs
        ]  # fmt: skip
        out.append(section(" findings"))
        for f in report.findings:
            if not f.title.startswith("kept float"):
                token = {"error": "bad", "warning": "warn", "note": "dim"}[f.level]
                out += [
                    [(f" {part}", token)]
                    for part in textwrap.wrap(
                        display_name(f"{f.code} {f.node} {f.title}: {f.message}"), max(width - 2, 20)
                    )
                ]
        return out

    def _facts(self, report: QuantizeReport) -> list[tuple[str, str]]:
        share = report.macs_int8 / report.macs_total if report.macs_total else 0.0
        return [
            ("scheme", f"{report.mode} {report.format}, {report.activations} · {report.weights}"),
            ("ranges", f"{report.method}, {report.samples} samples"),
            ("data", report.data),
            ("weights", f"{units.size(report.before_bytes)} → {units.size(report.after_bytes)}"),
            ("MACs in int8", units.percent(share)),
            ("Q · DQ", f"{report.quantize_linear} · {report.dequantize_linear}"),
        ]

    def current(self) -> PlanRow | None:
        """The row under the cursor."""
        return self.rows[self.query_one(Rows).cursor] if self.rows else None

    def why_not(self, action_id: str) -> str:
        row = self.current()
        bench = self.owb.bench
        match action_id:
            case "run.now":
                if "quantize" in self.owb.bridge.jobs:
                    return "already running: ctrl+c stops it"
                if bench is not None and not any(n.op in COMPUTE for n in bench.model("B").graph.nodes):
                    return "B has no Conv, Gemm or MatMul"
            case "change.apply":
                if self.result is None:
                    return "nothing tried yet: r tries the plan"
                if self.behind:
                    return "the plan has changed since it was tried: r first"
                if not self.result.report.nodes:
                    return "no node is in 8 bits"
            case "mark.toggle":
                if row is None:
                    return "nothing tried yet: r tries the plan"
                if not row.chosen:
                    return f"{row.name} stays float: {row.why}"
        return ""

    def do_mark_toggle(self) -> None:
        row = self.current()
        assert row is not None
        self.excluded ^= {row.name}
        self.behind = True
        self.query_one(Rows).move(1)
        self._show()

    def do_run_options(self) -> None:
        self.preset = (self.preset + 1) % len(_PRESETS)
        self.behind = self.result is not None
        self._show()
        self.owb.say(f"preset {_PRESETS[self.preset]}: r tries it")

    def do_run_now(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        options = self._options()

        def done(result: QuantizeResult) -> None:
            self.result, self.behind = result, False
            self._show()
            worst = min((o.sqnr_db for o in result.report.outputs), default=None)
            self.owb.say(f"tried: {units.decibel(worst)} at the worst output; a applies it as a step")

        self.owb.bridge.run(
            "quantize", "quantizing B", lambda progress, cancel: bench.try_quantize(progress=progress, cancel=cancel, **options), done
        )  # fmt: skip

    def _options(self) -> dict[str, Any]:
        return {"preset": _PRESETS[self.preset], **({"exclude": sorted(self.excluded)} if self.excluded else {})}

    def do_change_apply(self) -> None:
        bench, result = self.owb.bench, self.result
        assert bench is not None
        assert result is not None
        step: Step = bench.keep_quantized(result, **self._options())
        self.owb.state_changed()
        self.owb.say(f"step {step.info.number}: {len(result.report.nodes)} nodes in 8 bits; z undoes, 7 r compares")

    def do_explain_open(self) -> None:
        row = self.current()
        self.owb.say(f"{row.name}: {row.why or 'in 8 bits'}" if row is not None else "r tries the plan first")

    def on_rows_opened(self, message: Rows.Opened) -> None:
        self.owb.show_node_named(self.rows[message.row].name)

    def copy_text(self) -> str:
        row = self.current()
        return row.name if row is not None else ""

    def copy_command(self) -> str:
        excluded = f" --exclude {','.join(sorted(self.excluded))}" if self.excluded else ""
        return f"owb quantize {self.owb.path} --preset {_PRESETS[self.preset]}{excluded} -o int8.onnx"
