"""7 Compare: is B still right, and if not, where was it lost."""

from __future__ import annotations

from typing import Any

from textual.app import ComposeResult

from tui import columns
from tui.columns import Column
from tui.line import Line, fit, section
from tui.theme import HEAT_GLYPHS, heat_of_sqnr, operator_token
from tui.views.view import Pane, View
from tui.widgets.frame import Heads, Seam
from tui.widgets.lines import Text
from tui.widgets.rows import Rows
from workbench.comparison import Comparison, ValueDiff
from workbench.delta import Delta, diff
from workbench.render import units
from workbench.render.text import display_name

_COLUMNS = (
    Column("", 1), Column("value", 0, keep="end"), Column("made by", 14, rank=2), Column("shape", 16, right=True, rank=3), Column("SQNR", 9, right=True),
    Column("lost here", 9, right=True, rank=1), Column("max diff", 10, right=True, rank=4), Column("", 1),
)  # fmt: skip


class CompareView(View):
    """Values of A and B side by side: the first divergence and the new losses on top, then all in order.

    Shows    a `Comparison` and a `Delta`
    Sends    Compare on r
    Empty    says what makes B differ from A, or which key runs the comparison
    """

    TITLE = "Compare"
    KEYS = ("open.row", "run.now", "find.next", "sort.next", "copy.name", "copy.as", "slot.next")
    DEFAULT_CSS = "CompareView #summary { width: 46; }"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.result: Comparison | None = None
        self.delta: Delta | None = None
        self.rows: list[ValueDiff] = []
        self.by_loss = False

    def compose(self) -> ComposeResult:
        yield Pane("Compare A→B", Heads(lambda: _COLUMNS), Rows(id="value-rows"), id="values")
        yield Seam("values").add_class("side")
        yield Pane("Summary", Text(id="summary-text"), id="summary").add_class("side")

    def fill(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        self.result = self.delta = None
        self._show()
        if bench.why_not_next_slot():
            self.owb.say(bench.why_not_next_slot())
        else:
            a, b = bench.model("A"), bench.model("B")
            self.owb.bridge.run(
                "structure", "comparing structure", lambda progress, cancel: diff(a, b), self._structure, quiet=True
            )
            self.owb.say("r runs A and B on the same inputs and lines up every value")

    def _structure(self, delta: Delta) -> None:
        self.delta = delta
        self.query_one("#summary-text", Text).show(self._summary)

    def _show(self) -> None:
        if self.result is None:
            self.rows = []
        else:
            pinned = ([self.result.first] if self.result.first is not None else []) + [
                c for c in self.result.culprits if c is not self.result.first
            ]
            rest = [v for v in self.result.values if v not in pinned]
            if self.by_loss:
                rest.sort(key=lambda v: -(v.lost_db or 0.0))
            self.rows = [*pinned, *rest]
        order = "by loss" if self.by_loss else "execution order"
        detail = f"{len(self.rows):,} values · {order}" if self.result is not None else "not run yet"
        self.query_one("#values", Pane).rule.name_pane("Compare A→B", detail)
        self.query_one(Rows).show(len(self.rows), self._row)
        self.query_one("#summary-text", Text).show(self._summary)

    def _row(self, row: int, width: int) -> Line:
        value = self.rows[row]
        heat = heat_of_sqnr(value.sqnr_db) or 0
        first = self.result is not None and value is self.result.first
        mark = ("1", "bad") if first else ("▲", "warn") if value.culprit else (" ", "dim")
        lost = "" if value.lost_db is None or value.lost_db < 0.05 else f"{value.lost_db:.1f}"
        cells: list[Any] = [
            mark, (display_name(value.after), "strong" if value.culprit or first else "fg"), (display_name(value.op), operator_token(value.op, "")),
            (display_name(units.shape(value.shape)), "dim"), (units.decibel(value.sqnr_db), "fg"), (lost, "warn" if value.culprit else "dim"),
            (f"{value.max_abs:.3g}", "dim"), (HEAT_GLYPHS[heat], f"heat.{heat}"),
        ]  # fmt: skip
        return columns.row(_COLUMNS, cells, width)

    def _summary(self, width: int) -> list[Line]:
        bench = self.owb.bench
        out: list[Line] = []
        if bench is None:
            return out
        for slot in ("A", "B"):
            info = bench.info(slot)
            out.append(
                [
                    (f" {slot} ", f"slot.{slot.lower()}"),
                    (f"{display_name(info.title)}  {info.nodes:,} nodes  {units.size(info.file_bytes)}", "fg"),
                ]
            )
        if self.result is not None:
            out.append(section(" outputs"))
            for o in self.result.outputs:
                sign = ("✓", "ok") if o.within else ("✗", "bad")
                out.append([(" ", "fg"), sign, (f" {fit(display_name(o.name), 18)} {units.decibel(o.sqnr_db)}", "fg")])
                out.append([(f"   cosine {o.cosine:.6f}   max diff {o.max_abs:.3g}", "dim")])
            out.append([(f" within {self.result.tolerance:.0e} of the range counts as equal", "dim")])
            out.append(
                [
                    (
                        f" {len(self.result.values)} aligned, {self.result.only_before} only in A, {self.result.only_after} only in B",
                        "dim",
                    )
                ]
            )
        if self.delta is not None:
            delta = self.delta
            out.append(section(" structure"))
            out.append([(" + ", "diff.add"), (f"{len(delta.added):,} added", "fg")])
            out.append([(" − ", "diff.drop"), (f"{len(delta.removed):,} removed", "fg")])
            out.append(
                [(" ~ ", "diff.edit"), (f"{len(delta.changed):,} changed, {len(delta.weights):,} weights", "fg")]
            )
            out.append([(" = ", "dim"), (f"{delta.same:,} same", "fg")])
            for op, (before, after) in list(delta.operators.items())[:14]:
                out.append(
                    [(f"   {fit(display_name(op), 20)}", operator_token(op, "")), (f"{before:>5,} → {after:,}", "dim")]
                )
        return out

    def why_not(self, action_id: str) -> str:
        bench = self.owb.bench
        if action_id == "run.now" and bench is not None:
            if bench.why_not_next_slot():
                return bench.why_not_next_slot()
            if "compare" in self.owb.bridge.jobs:
                return "already running: ctrl+c stops it"
        if action_id in ("open.row", "copy.name") and not self.rows:
            return "not run yet: r runs"
        if action_id == "find.next" and (self.result is None or not self.result.culprits):
            return "no value is lost here"
        return ""

    def do_run_now(self) -> None:
        bench = self.owb.bench
        assert bench is not None

        def done(result: Comparison) -> None:
            self.result = result
            self._show()
            first = result.first
            verdict = "the outputs agree" if result.equal else "an output differs"
            where = (
                f"; first divergence at {display_name(first.after)}"
                if first is not None
                else "; first divergence: none within rounding"
            )
            self.owb.say(f"{verdict} within {result.tolerance:.0e} of the range{where}")
            self.owb.refresh_footer()

        self.owb.bridge.run(
            "compare",
            "comparing A and B",
            lambda progress, cancel: bench.compare(progress=progress, cancel=cancel),
            done,
        )

    def do_find_next(self) -> None:
        rows = self.query_one(Rows)
        ahead = [k for k, v in enumerate(self.rows) if v.culprit and k > rows.cursor] or [
            k for k, v in enumerate(self.rows) if v.culprit
        ]
        rows.cursor = ahead[0]

    def do_sort_next(self) -> None:
        self.by_loss = not self.by_loss
        self._show()

    def on_rows_opened(self, message: Rows.Opened) -> None:
        value = self.rows[message.row]
        self.owb.show_node_named(value.node or value.op)

    def copy_text(self) -> str:
        return self.rows[self.query_one(Rows).cursor].after if self.rows else ""

    def copy_command(self) -> str:
        return f"owb compare {self.owb.path} B.onnx"
