"""7 Compare: is B still right, and if not, where was it lost."""

from __future__ import annotations

import textwrap
from typing import Any

from textual.app import ComposeResult

from tui import columns
from tui.columns import Column
from tui.dialogs.measure import CompareDialog, Comparing
from tui.glyphs import bar
from tui.line import Line, fit, section
from tui.numbers import decibels, number
from tui.theme import HEAT_GLYPHS, heat_of_sqnr, operator_token
from tui.views.view import Pane, View
from tui.widgets.frame import Heads, Seam
from tui.widgets.lines import Text
from tui.widgets.rows import Rows
from workbench.comparison import Comparison, ValueDiff
from workbench.delta import Delta
from workbench.render import units
from workbench.render.text import display_name

_COLUMNS = (
    Column("", 1), Column("value", 0, keep="end"), Column("made by", 12, rank=3), Column("shape", 14, right=True, rank=4), Column("SQNR dB", 7, right=True),
    Column("", 10, rank=2), Column("", 1), Column("lost here", 9, right=True, rank=1), Column("cosine", 8, right=True, rank=6), Column("max diff", 9, right=True, rank=5),
)  # fmt: skip
_FULL_DB = 60.0


class CompareView(View):
    """Values of A and B side by side: the first divergence and the new losses on top, then all in order.

    Shows    a `Comparison` and a `Delta`
    Sends    Compare on r
    Empty    says what makes B differ from A, or which key runs the comparison; one of other states stays, dimmed and marked ≀
    """

    TITLE = "Compare"
    KEPT = ("by_loss",)
    KEYS = ("open.row", "find.next", "sort.next", "run.now", "run.options", "explain.open", "out.export", "copy.name", "slot.next")  # fmt: skip
    DEFAULT_CSS = "CompareView #summary { width: 46; }"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.result: Comparison | None = None
        self.delta: Delta | None = None
        self.rows: list[ValueDiff | str] = []
        self.by_loss = False
        self.old = False
        self.options = Comparing()

    def compose(self) -> ComposeResult:
        yield Pane("Compare A→B", Heads(lambda: _COLUMNS), Rows(id="value-rows"), id="values")
        yield Seam("values").add_class("side")
        yield Pane("Summary", Text(id="summary-text"), id="summary").add_class("side")

    def fill(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        pair = (bench.key("A"), bench.key("B"))
        self.result, self.old = bench.results.comparisons.get(pair), False
        if self.result is None:
            self.result = bench.results.last_comparison()
            self.old = self.result is not None
        self.delta = bench.results.deltas.get(pair)
        self._show()
        if bench.why_not_next_slot():
            self.owb.say(bench.why_not_next_slot())
            return
        if self.delta is None:
            self.owb.bridge.run("structure", "comparing structure", lambda p, c: bench.delta(), self._structure, quiet=True)  # fmt: skip
        if self.result is None or self.old:
            self.owb.say("r runs A and B on the same inputs and lines up every value")

    def _structure(self, delta: Delta) -> None:
        self.delta = delta
        self.query_one("#summary-text", Text).show(self._summary)

    def _show(self) -> None:
        result = self.result
        self.rows = []
        if result is not None:
            first = [result.first] if result.first is not None else []
            losses = [c for c in result.culprits if c is not result.first]
            if first:
                self.rows += [f"first divergence   beyond {number(result.tolerance, '.0e')} of the range", *first]
            if losses:
                self.rows += ["new loss starts here   inputs agree, the output does not", *losses]
            rest = [v for v in result.values if v not in first and v not in losses]
            if self.by_loss:
                rest.sort(key=lambda v: -(v.lost_db or 0.0))
            if first or losses:
                self.rows.append(f"all other values   {'most lost first' if self.by_loss else 'in order of execution'}")
            self.rows += rest
        count = sum(not isinstance(r, str) for r in self.rows)
        order = "by loss" if self.by_loss else "execution order"
        detail = f"{count:,} values · {order}" if result is not None else "not run yet"
        name = "≀ Compare of other states" if self.old else "Compare A→B"
        self.query_one("#values", Pane).rule.name_pane(name, ("r compares these · " if self.old else "") + detail)
        start = 1 if self.rows and isinstance(self.rows[0], str) else 0
        self.query_one(Rows).show(len(self.rows), self._row, start)
        self.query_one("#summary-text", Text).show(self._summary)

    def _row(self, row: int, width: int) -> Line:
        value = self.rows[row]
        if isinstance(value, str):
            return [(value + " ", "focus"), ("╌" * width, "line")]
        heat = heat_of_sqnr(value.sqnr_db) or 0
        first = self.result is not None and value is self.result.first
        mark = ("1", "bad") if first else ("▲", "warn") if value.culprit else (" ", "dim")
        lost = "" if value.lost_db is None or value.lost_db < 0.05 else f"{value.lost_db:.1f}"
        text = "dim" if self.old else "strong" if value.culprit or first else "fg"
        shown = "∞" if value.sqnr_db > 900 else number(value.sqnr_db, ".1f")
        cells: list[Any] = [
            mark, (display_name(value.after), text), (display_name(value.op), operator_token(value.op, "")),
            (display_name(units.shape(value.shape)), "dim"), (shown, text), (bar(min(max(value.sqnr_db, 0) / _FULL_DB, 1.0), 10), f"heat.{heat}"),
            (HEAT_GLYPHS[heat], f"heat.{heat}"), (f"{lost} ▲" if lost and value.culprit else f"{lost}  " if lost else "", "warn" if value.culprit else "dim"),
            (f"{value.cosine:.4f}", "dim"), (number(value.max_abs, '.1e') if value.max_abs else "0", "dim"),
        ]  # fmt: skip
        return columns.row(_COLUMNS, cells, width)

    def current(self) -> ValueDiff | None:
        """The value under the cursor; a heading has none."""
        row = self.rows[self.query_one(Rows).cursor] if self.rows else None
        return row if isinstance(row, ValueDiff) else None

    def on_rows_moved(self, message: Rows.Moved) -> None:
        self.query_one("#summary-text", Text).show(self._summary)

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
        value = self.current()
        if value is not None:
            out += [section(" this value"), [(f" {display_name(value.after)}", "strong")]]
            what = "first divergence" if self.result is not None and value is self.result.first else "new loss: its inputs agree better" if value.culprit else "inherited: its inputs differ as much" if not value.within else "within rounding"  # fmt: skip
            out.append(
                [
                    (
                        f" {what}"
                        + (f"   A keeps it as {display_name(value.before, 24)}" if value.before != value.after else ""),
                        "fg",
                    )
                ]
            )
            out += [[(f" {part}", "dim")] for part in textwrap.wrap(display_name(" ".join(filter(None, (value.how, value.note)))), max(width - 2, 20))]  # fmt: skip
        if self.result is not None:
            out.append(section(" outputs"))
            for o in self.result.outputs:
                sign = ("✓", "ok") if o.within else ("✗", "bad")
                out.append([(" ", "fg"), sign, (f" {fit(display_name(o.name), 18)} {decibels(o.sqnr_db)}", "fg")])
                out.append([(f"   cosine {o.cosine:.6f}   max diff {number(o.max_abs, '.3g')}", "dim")])
            out.append([(f" within {number(self.result.tolerance, '.0e')} of the range counts as equal", "dim")])
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
        if action_id in ("open.row", "copy.name", "out.export", "explain.open") and self.current() is None:
            return "not run yet: r runs" if not self.rows else "a heading: j goes on"
        if action_id == "find.next" and (self.result is None or not self.result.culprits):
            return "no value is lost here" if self.result is not None else "not run yet: r runs"
        return ""

    def footer(self) -> list[tuple[str, str, bool]]:
        named = {"open.row": "node", "find.next": "next loss", "sort.next": "in order" if self.by_loss else "by loss", "run.now": "run again" if self.result is not None else "run", "run.options": "options", "out.export": "save table"}  # fmt: skip
        return [(a, named.get(a, ""), not (self.why_not(a) or self.owb.why_not(a))) for a in self.KEYS]

    def do_run_now(self) -> None:
        bench, o = self.owb.bench, self.options
        assert bench is not None

        def done(result: Comparison) -> None:
            self.stale = False
            self.fill()
            self.say(verdict(result))
            self.owb.toasts.done(f"compared {len(result.values):,} values: {verdict(result).partition(' within')[0]}")
            self.owb.refresh_footer()

        self.owb.bridge.run("compare", "comparing A and B", lambda p, c: bench.compare(tolerance=o.tolerance, inputs=o.inputs, progress=p, cancel=c), done)  # fmt: skip

    def sentence(self) -> str:
        if self.result is None:
            return ""
        return "r runs A and B on the same inputs and lines up every value" if self.old else verdict(self.result)

    def do_run_options(self) -> None:
        def given(options: Comparing | None) -> None:
            if options is not None:
                self.options = options
                self.do_run_now()

        self.app.push_screen(CompareDialog(self.options), given)

    def do_find_next(self) -> None:
        rows = self.query_one(Rows)
        hits = [k for k, v in enumerate(self.rows) if isinstance(v, ValueDiff) and v.culprit]
        rows.cursor = next((k for k in hits if k > rows.cursor), hits[0])

    def do_find_previous(self) -> None:
        rows = self.query_one(Rows)
        hits = [k for k, v in enumerate(self.rows) if isinstance(v, ValueDiff) and v.culprit]
        rows.cursor = next((k for k in reversed(hits) if k < rows.cursor), hits[-1]) if hits else rows.cursor

    def do_sort_next(self) -> None:
        self.by_loss = not self.by_loss
        self._show()

    def do_explain_open(self) -> None:
        value = self.current()
        assert value is not None
        loss = "" if value.lost_db is None else f", {value.lost_db:.1f} dB less than the worst value it is made from"
        self.owb.say(
            f"{display_name(value.after)}: {decibels(value.sqnr_db)}{loss}. 5 keeps nodes float; 4 z undoes rules"
        )

    def do_out_export(self) -> None:
        from tui.dialogs.export import ask_path
        from workbench.render.comparing import comparison_tables
        from workbench.render.csv import to_csv

        result = self.result
        assert result is not None
        ask_path(self.owb, "Save the table", "every value with dB, cosine and largest difference, as CSV", self.owb.path.with_name(f"{self.owb.path.stem}_compare.csv"), lambda target: target.write_text(to_csv(comparison_tables(result)[-1]), encoding="utf-8"))  # fmt: skip

    def on_rows_opened(self, message: Rows.Opened) -> None:
        value = self.current()
        if value is not None:
            self.owb.show_node_named(value.node or value.op)

    def copy_text(self) -> str:
        value = self.current()
        return value.after if value is not None else ""

    def copy_command(self) -> str:
        return f"owb compare {self.owb.path} B.onnx"


def verdict(result: Comparison) -> str:
    """Whether the outputs agree, and where values begin not to."""
    agree = "the outputs agree" if all(o.within for o in result.outputs) else "the outputs differ"
    where = f"at {display_name(result.first.after)}" if result.first is not None else "none within rounding"
    return f"{agree} within {number(result.tolerance, '.0e')} of the range; first divergence{' ' if result.first is not None else ': '}{where}"
