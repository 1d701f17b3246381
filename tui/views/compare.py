"""7 Compare: is B still right, and if not, where was it lost."""

from __future__ import annotations

import shlex
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any

from textual.app import ComposeResult

from exec.wording import counted
from tui import columns
from tui.columns import Column
from tui.dialogs.measure import CompareDialog, Comparing
from tui.glyphs import bar
from tui.line import Line, fit, section
from tui.numbers import decibels, number
from tui.theme import HEAT_GLYPHS, heat_of_sqnr, operator_token
from tui.views.differences import OUTPUTS, STRUCTURE, Change, change_row, changes, output_row
from tui.views.filtered import Filtered, shown_of
from tui.views.view import Pane
from tui.widgets.frame import Heads, Seam
from tui.widgets.lines import Text
from tui.widgets.rows import Rows
from workbench.comparison import Comparison, OutputDiff, ValueDiff
from workbench.delta import Delta
from workbench.render import units
from workbench.render.text import display_name

_COLUMNS = (
    Column("", 1), Column("value", 0, keep="end"), Column("made by", 12, rank=3), Column("shape", 14, right=True, rank=4), Column("SQNR dB", 7, right=True),
    Column("", 10, rank=2), Column("", 1), Column("lost here", 9, right=True, rank=1), Column("cosine", 8, right=True, rank=6), Column("max diff", 9, right=True, rank=5),
)  # fmt: skip
_FULL_DB = 60.0
_LEVELS = ("≥ 50 dB", "≥ 40", "≥ 30", "≥ 20", "< 20")


class CompareView(Filtered):
    """Values of A and B side by side: the first divergence and the new losses on top, then all in order.

    Shows    a `Comparison` and a `Delta`
    Sends    Compare on r
    Empty    says what makes B differ from A, or which key runs the comparison; one of other states stays, dimmed and marked ≀
    """

    TITLE = "Compare"
    FACES = ("values", "structure", "outputs")
    KEPT = ("by_loss", "face", "query_text")
    KEYS = ("open.row", "find.next", "find.filter", "sort.next", "face.next", "run.now", "run.options", "explain.open", "out.export", "slot.next")  # fmt: skip
    DEFAULT_CSS = "CompareView #summary { width: 46; }"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.result: Comparison | None = None
        self.delta: Delta | None = None
        self.rows: list[ValueDiff | str | Change | OutputDiff] = []
        self.query_text = ""
        self.by_loss = False
        self.old = False
        self.options = Comparing()

    def compose(self) -> ComposeResult:
        yield Pane(
            "Compare A→B",
            Heads(lambda: (_COLUMNS, STRUCTURE, OUTPUTS)[self.face]),
            Rows("summary-text", id="value-rows"),
            id="values",
        )
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
        if self.FACES[self.face] == "structure":
            self._show()
        self.query_one("#summary-text", Text).show(self._summary)

    def _values(self, result: Comparison) -> list[ValueDiff | str | Change | OutputDiff]:
        """What is pinned, then all in order; headings between them."""
        first = [result.first] if result.first is not None else []
        losses = [c for c in result.culprits if c is not result.first]
        rest = [v for v in result.values if v not in first and v not in losses]
        if self.by_loss:
            rest.sort(key=lambda v: -(v.lost_db or 0.0))
        parts = (
            (f"first divergence   beyond {number(result.tolerance, '.0e')} of the range", first),
            ("new loss starts here   inputs agree, the output does not", losses),
            (f"all other values   {'most lost first' if self.by_loss else 'in order of execution'}" if first or losses else "", rest),
        )  # fmt: skip
        out: list[ValueDiff | str | Change | OutputDiff] = []
        for heading, values in parts:
            shown = [v for v in values if self.lets_through(v.after, v.op, v.node)]
            out += [heading, *shown] if heading and shown else shown
        return out

    def _total(self) -> tuple[int, str]:
        """How many rows there are without a filter, and what they are."""
        if self.FACES[self.face] == "structure":
            return len(changes(self.delta)) if self.delta is not None else 0, "difference"
        result = self.result
        if self.FACES[self.face] == "outputs":
            return len(result.outputs) if result is not None else 0, "output"
        return len(result.values) if result is not None else 0, "value"

    def refill(self) -> None:
        self._show()

    def hits(self) -> str:
        return shown_of(sum(not isinstance(r, str) for r in self.rows), *self._total())

    def _show(self) -> None:
        result, face = self.result, self.FACES[self.face]
        self.rows = []
        if face == "structure":
            found = changes(self.delta) if self.delta is not None else []
            self.rows += [c for c in found if self.lets_through(c.op, c.node, c.what)]
        elif result is not None:
            self.rows += self._values(result) if face == "values" else [o for o in result.outputs if self.lets_through(o.name)]  # fmt: skip
        total, of = self._total()
        detail = self.hits() if self.query_text else counted(total, of)
        if face == "values":
            detail = f"{detail} · {'by loss' if self.by_loss else 'execution order'}"
        if (result is None and face != "structure") or (face == "structure" and self.delta is None):
            detail = "not run yet" if face != "structure" else "not compared yet"
        old = self.old and face != "structure"  # structure is of what the header names
        self.query_one("#values", Pane).rule.name_pane("≀ Compare of other states" if old else "Compare A→B", ("r compares these · " if old else "") + detail)  # fmt: skip
        start = 1 if self.rows and isinstance(self.rows[0], str) else 0
        self.query_one(Heads).refresh()
        self.query_one(Rows).show(len(self.rows), self._row, start)
        self.query_one("#summary-text", Text).show(self._summary)
        self.owb.refresh_footer()

    def _row(self, row: int, width: int) -> Line:
        value = self.rows[row]
        if isinstance(value, str):
            return [(value + " ", "focus"), ("╌" * width, "line")]
        if isinstance(value, Change):
            return change_row(value, width)
        if isinstance(value, OutputDiff):
            return output_row(value, width)
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
                    (f"{display_name(info.title)}  {counted(info.nodes, 'node')}  {units.size(info.file_bytes)}", "fg"),
                ]
            )
        if bench.why_not_next_slot():
            out += [
                [],
                *([(f" {part}", "fg")] for part in textwrap.wrap(bench.why_not_next_slot(), max(width - 2, 20))),
            ]
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
            out += [[(f" {part}", "dim")] for part in textwrap.wrap(display_name(" ".join(filter(None, ("" if value.how == "same" else value.how, value.note)))), max(width - 2, 20))]  # fmt: skip
        row = self.rows[self.query_one(Rows).cursor] if self.rows else None
        if isinstance(row, Change):
            out += [section(" this difference"), [(f" {display_name(row.node or row.op or 'the model')}", "strong")]]
            said = row.what or ("only in B" if row.sign == "+" else "gone from B: b shows A")
            out += [[(f" {part}", "fg")] for part in textwrap.wrap(display_name(said, 2000), max(width - 2, 20))]
        if self.result is not None:
            out.append(section(" outputs"))
            for o in self.result.outputs:
                sign = ("✓", "ok") if o.within else ("✗", "bad")
                out.append([(" ", "fg"), sign, (f" {fit(display_name(o.name), 18)} {decibels(o.sqnr_db)}", "fg")])
                out.append([(f"   cosine {o.cosine:.6f}   max diff {number(o.max_abs, '.3g')}", "dim")])
            out.append([(f" within {number(self.result.tolerance, '.0e')} of the range counts as equal", "dim")])
            text = f"{len(self.result.values):,} aligned, {self.result.only_before:,} only in A, {self.result.only_after:,} only in B"  # fmt: skip
            out.append([(f" {text}", "dim")])
            out += self._levels(width)
        if self.delta is not None:
            delta = self.delta
            out.append(section(" structure"))
            out.append([(" + ", "diff.add"), (f"{len(delta.added):,} added", "fg")])
            out.append([(" − ", "diff.drop"), (f"{len(delta.removed):,} removed", "fg")])
            out.append(
                [
                    (" ~ ", "diff.edit"),
                    (f"{len(delta.changed):,} changed, {counted(len(delta.weights), 'weight')}", "fg"),
                ]
            )
            out.append([(" = ", "dim"), (f"{delta.same:,} same", "fg")])
            for op, (before, after) in list(delta.operators.items())[:14]:
                out.append(
                    [(f"   {fit(display_name(op), 20)}", operator_token(op, "")), (f"{before:>5,} → {after:,}", "dim")]
                )
        return out

    def _levels(self, width: int) -> list[Line]:
        """How many values agree how well."""
        assert self.result is not None
        counts = Counter(heat_of_sqnr(v.sqnr_db) or 0 for v in self.result.values)
        top = max(counts.values(), default=1)
        out: list[Line] = [section(" how many values at each level")]
        for level, label in enumerate(_LEVELS):
            heat = f"heat.{level}"
            out.append([(f" {fit(label, 8)}", "dim"), (HEAT_GLYPHS[level], heat), (f" {counts[level]:>6,} ", "fg"), (bar(counts[level] / top, max(width - 19, 4)), heat)])  # fmt: skip
        return out

    def why_not(self, action_id: str) -> str:
        bench = self.owb.bench
        if action_id in ("open.row", "copy.name", "copy.as", "out.export", "explain.open", "find.next", "sort.next") and not self.rows and self.query_text:  # fmt: skip
            return "nothing matches: esc clears the filter"
        if self.FACES[self.face] != "values":
            return self._why_not_beside(action_id)
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

    def _why_not_beside(self, action_id: str) -> str:
        """On the faces that do not list values."""
        structure = self.FACES[self.face] == "structure"
        if action_id in ("find.next", "find.previous", "sort.next", "explain.open"):
            return "t goes on to the values"
        if action_id == "run.now" and self.owb.bench is not None and self.owb.bench.why_not_next_slot():
            return self.owb.bench.why_not_next_slot()
        if action_id in ("open.row", "copy.name", "copy.as") and not self.rows:
            return "nothing differs in structure" if structure and self.delta is not None else "not run yet: r runs"
        if action_id == "out.export" and self.result is None:
            return "not run yet: r runs"
        return ""

    def footer(self) -> list[tuple[str, str, bool]]:
        named = {"open.row": "node", "find.next": "next loss", "sort.next": "in order" if self.by_loss else "by loss", "run.now": "run again" if self.result is not None else "run", "run.options": "options", "out.export": "save pair" if self.FACES[self.face] == "values" else "save table", "face.next": self.FACES[(self.face + 1) % 3]}  # fmt: skip
        return [(a, named.get(a, ""), not (self.why_not(a) or self.owb.why_not(a))) for a in self.KEYS]

    def do_run_now(self) -> None:
        bench, o = self.owb.bench, self.options
        assert bench is not None

        def done(result: Comparison) -> None:
            self.stale = False
            self.fill()
            self.say(verdict(result))
            self.owb.toasts.done(
                f"compared {counted(len(result.values), 'value')}: {verdict(result).partition(' within')[0]}"
            )
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

    def do_face_next(self) -> None:
        self.face = (self.face + 1) % len(self.FACES)
        self._show()
        self.owb.refresh_frame()

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
        """The value under the cursor of both models; on the other faces the whole table."""
        from tui.dialogs.export import ask_path

        bench, value = self.owb.bench, self.current()
        if value is None:
            self._export_table()
            return
        assert bench is not None
        a, b = bench.model("A"), bench.model("B")

        def write(target: Path) -> None:
            from workbench.activations import save_values, values_of
            from workbench.feeding import feeds_for

            feeds = feeds_for(a, self.options.inputs or None).values
            save_values(target, {"A": values_of(a, [value.before], feeds)[value.before], "B": values_of(b, [value.after], feeds)[value.after]})  # fmt: skip

        ask_path(self.owb, "Save the pair", f"A and B of {value.after}, as an .npz", self.owb.path.with_name(f"{self.owb.path.stem}_pair.npz"), write)  # fmt: skip

    def _export_table(self) -> None:
        from tui.dialogs.export import ask_path
        from workbench.render.comparing import comparison_tables
        from workbench.render.csv import to_csv

        result = self.result
        assert result is not None
        ask_path(self.owb, "Save the table", "every value with dB, cosine and largest difference, as CSV", self.owb.path.with_name(f"{self.owb.path.stem}_compare.csv"), lambda target: target.write_text(to_csv(comparison_tables(result)[-1]), encoding="utf-8"))  # fmt: skip

    def on_rows_opened(self, message: Rows.Opened) -> None:
        row = self.rows[message.row]
        if isinstance(row, ValueDiff):
            self.owb.show_node_named(row.node or row.op)
        elif isinstance(row, OutputDiff) and self.result is not None:
            made = next((v for v in self.result.values if v.after == row.name), None)
            self.owb.show_node_named(made.node or made.op if made is not None else row.name)
        elif isinstance(row, Change) and row.node:
            self.owb.show_node_named(row.node)

    def copy_text(self) -> str:
        row = self.rows[self.query_one(Rows).cursor] if self.rows else None
        if isinstance(row, ValueDiff):
            return row.after
        if isinstance(row, Change):
            return row.node or row.what
        return row.name if isinstance(row, OutputDiff) else ""

    def copy_command(self) -> str:
        return f"owb compare {shlex.quote(str(self.owb.path))} B.onnx"

    def copy_python(self) -> str:
        return f"wb.compare(wb.load({str(self.owb.path)!r}), wb.load('B.onnx'))"

    def copy_data(self) -> tuple[Any, str] | None:
        row = self.rows[self.query_one(Rows).cursor] if self.rows else None
        return None if row is None or isinstance(row, str) else (row, {ValueDiff: "value", Change: "difference"}.get(type(row), "output"))  # fmt: skip


def verdict(result: Comparison) -> str:
    """Whether the outputs agree, and where values begin not to."""
    agree = "agree within" if all(o.within for o in result.outputs) else "differ by more than"
    where = f"first divergence at {display_name(result.first.after)}" if result.first is not None else "no divergence beyond rounding"  # fmt: skip
    return f"the outputs {agree} {number(result.tolerance, '.0e')} of the range; {where}"
