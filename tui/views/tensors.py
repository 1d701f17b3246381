"""3 Tensors: the weights and what values they hold; statistics are computed for rows on screen first."""

from __future__ import annotations

from typing import Any

from textual.app import ComposeResult

from exec.errors import BenchError
from exec.ir import Constant
from exec.metrics import Difference
from tui import columns
from tui.columns import Column
from tui.line import Line, fit, section
from tui.numbers import decibels, number, pointed
from tui.theme import HEAT_GLYPHS, heat_of_sqnr
from tui.views.nodelist import SIGNS
from tui.views.view import Pane, View
from tui.widgets.filterbar import FilterBar
from tui.widgets.frame import Heads, Seam
from tui.widgets.lines import Text
from tui.widgets.rows import Rows
from workbench.render import units
from workbench.render.showing import histogram_text
from workbench.render.text import display_name
from workbench.tensors import TensorRow, TensorStats, tensor_rows, tensor_stats
from workbench.weightpairs import Pair, pair_up, scaled, weight_difference

_COLUMNS = (
    Column("name", 0, keep="end"), Column("dtype", 8, rank=4), Column("shape", 16, right=True, rank=2), Column("size", 9, right=True, rank=1),
    Column("min", 9, right=True, rank=3), Column("max", 9, right=True, rank=3), Column("histogram", 24, rank=5), Column("int8", 8, right=True), Column("", 1),
)  # fmt: skip
_BOTH = (
    Column("", 1), Column("name", 0, keep="end"), Column("shape", 14, right=True, rank=2), Column("A", 8, rank=4), Column("B", 8, rank=4),
    Column("A size", 8, right=True, rank=3), Column("B size", 8, right=True, rank=1), Column("SQNR", 8, right=True), Column("max diff", 8, right=True, rank=5),
)  # fmt: skip
_AHEAD = 40
_SORTS = ("size", "order", "name")


class TensorsView(View):
    """What the weights are: range, histogram, and the noise int8 would add.

    Shows    `TensorRow` of every weight, `TensorStats` of those looked at; in A→B what became of A's, and how far the values are apart
    Sends    nothing; statistics are asked for in the background
    """

    TITLE = "Tensors"
    KEYS = ("open.row", "find.filter", "sort.next", "sort.reverse", "jump.reader", "out.export", "copy.name", "copy.as")
    LABELS = {"open.row": "values", "sort.next": "sort", "jump.reader": "node", "out.export": "save .npy"}
    KEPT = ("query_text", "sort", "reverse")
    DEFAULT_CSS = "TensorsView #tensor { width: 48; }"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.all: list[TensorRow] = []
        self.weights: list[Constant] = []
        self.rows: list[int] = []
        self.stats: dict[int, TensorStats | str | None] = {}
        self.query_text, self.sort, self.reverse = "", 0, False
        self.before: list[TensorRow] = []
        self.old_weights: list[Constant] = []
        self.pairs: list[Pair] = []  # empty where one model is shown
        self.apart: dict[int, Difference | str] = {}

    def compose(self) -> ComposeResult:
        yield Pane("Tensors", Heads(self._columns), Rows(id="tensor-rows"), id="tensors-pane")
        yield Seam("tensors-pane").add_class("side")
        yield Pane("Tensor", Text(id="tensor-text"), id="tensor").add_class("side")

    def fill(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        both = bench.shown == "A→B" and not bench.same
        self.all, self.weights = tensor_rows(bench.model("B") if both else bench.current())
        self.before, self.old_weights = tensor_rows(bench.model("A")) if both else ([], [])
        self.pairs = pair_up(self.old_weights, self.weights) if both else []
        gone = [p.before for p in self.pairs if p.after is None and p.before is not None]
        self.all += [self.before[k] for k in gone]
        self.weights += [self.old_weights[k] for k in gone]
        self.stats, self.apart = {}, {}
        self.query_one(Heads).refresh()
        self._show()

    def _columns(self) -> tuple[Column, ...]:
        return _BOTH if self.pairs else _COLUMNS

    def _show(self) -> None:
        words = self.query_text.lower().split()
        self.sort %= len(_SORTS)
        self.rows = [k for k, row in enumerate(self.all) if all(w in row.name.lower() for w in words)]
        if _SORTS[self.sort] == "size":
            self.rows.sort(key=lambda k: -self.all[k].weight_bytes)
        elif _SORTS[self.sort] == "name":
            self.rows.sort(key=lambda k: self.all[k].name)
        if self.reverse:
            self.rows.reverse()
        rows = self.query_one(Rows)
        rows.show(len(self.rows), self._row)
        self.query_one("#tensors-pane", Pane).rule.name_pane(
            "Tensors A→B" if self.pairs else "Tensors", f"{len(self.rows):,} of {len(self.all):,} · {_SORTS[self.sort]}"
        )
        self._ask()
        self._detail()

    def _ask(self) -> None:
        """Compute statistics of the rows on screen and a few beyond, those that are not known yet."""
        rows = self.query_one(Rows)
        top = rows.scroll_offset.y
        near = self.rows[top : top + rows.size.height + _AHEAD]
        wanted = [(k, self.weights[k]) for k in near if k not in self.stats]
        two = [(k, self.old_weights[o], self.weights[k]) for k in near if k not in self.apart and (o := self._partner(k)) is not None]  # fmt: skip

        def work(progress: Any, cancel: Any) -> tuple[dict[int, TensorStats | str | None], dict[int, Difference | str]]:
            return statistics(wanted, cancel), differences(two, cancel)

        if wanted or two:
            self.owb.bridge.run("statistics", "reading weights", work, self._computed, quiet=True)

    def _computed(self, found: tuple[dict[int, TensorStats | str | None], dict[int, Difference | str]]) -> None:
        self.stats.update(found[0])
        self.apart.update(found[1])
        self.query_one(Rows).refresh()
        self._detail()

    def _partner(self, k: int) -> int | None:
        """A's row for one of B's; None where only one of them has it."""
        pair = self.pairs[k] if self.pairs else None
        return pair.before if pair is not None and pair.after is not None else None

    def _sign(self, k: int) -> str:
        """`+` new, `−` gone, `~` changed, `=` same, blank while the values are not compared."""
        pair, apart = self.pairs[k], self.apart.get(k)
        if pair.after is None or pair.before is None:
            return "−" if pair.after is None else "+"
        if isinstance(apart, Difference):
            return "=" if apart.equal and self.before[pair.before].dtype == self.all[k].dtype else "~"
        return " "

    def _pair_row(self, k: int, width: int) -> Line:
        sign, apart, old = self._sign(k), self.apart.get(k), self._partner(k)
        here, gone = self.all[k], sign == "−"
        before = here if gone else self.before[old] if old is not None else None
        known = isinstance(apart, Difference) and not apart.note
        cells: list[Any] = [
            (sign, SIGNS.get(sign, "dim")), (display_name(here.name), "dim" if gone else "fg"), (units.shape(here.shape), "dim"),
            (before.dtype if before is not None else "", "slot.a"), ("" if gone else here.dtype, "slot.b"),
            (units.size(before.weight_bytes) if before is not None else "", "fg"), ("" if gone else units.size(here.weight_bytes), "fg"),
            (decibels(apart.sqnr_db) if known else "", "fg"), (number(apart.max_abs, ".1e") if known and not apart.equal else "", "dim"),  # type: ignore[union-attr]
        ]  # fmt: skip
        return columns.row(_BOTH, cells, width)

    def _row(self, row: int, width: int) -> Line:
        k = self.rows[row]
        if self.pairs:
            return self._pair_row(k, width)
        tensor, stats = self.all[k], self.stats.get(k)
        known = stats if isinstance(stats, TensorStats) else None
        heat = heat_of_sqnr(known.int8_db) if known is not None else None
        cells: list[Any] = [
            (display_name(tensor.name), "fg"), (tensor.dtype, "dim"), (units.shape(tensor.shape), "dim"), (units.size(tensor.weight_bytes), "fg"),
            (pointed(known.min) if known else "", "fg"), (pointed(known.max) if known else "", "fg"),
            (histogram_text(known.histogram) if known else "", "dim"),
            (f"{known.int8_db:.1f} dB" if known and known.int8_db is not None and known.int8_db < 999 else "–", "fg"),
            ("", "dim") if heat is None else (HEAT_GLYPHS[heat], f"heat.{heat}"),
        ]  # fmt: skip
        return columns.row(_COLUMNS, cells, width)

    def _detail(self) -> None:
        self.query_one("#tensor-text", Text).show(self._lines)

    def _lines(self, width: int) -> list[Line]:
        if not self.rows:
            return [[(" no weight here", "dim")]]
        k = self.rows[self.query_one(Rows).cursor]
        tensor, stats = self.all[k], self.stats.get(k)
        out: list[Line] = [
            [(" " + display_name(tensor.name), "strong")],
            [(f" {units.shape(tensor.shape)}   {tensor.dtype}   {units.size(tensor.weight_bytes)}", "fg")],
            section(" read by"),
            *([(" ▸ " + display_name(name), "fg")] for name in tensor.readers[:8]),
            section(" values"),
        ]
        if isinstance(stats, str):
            out.append([(" " + display_name(stats), "warn")])
        elif stats is None:
            out.append([(" reading …" if k not in self.stats else " no statistics for this type", "dim")])
        else:
            facts = [
                ("min", number(stats.min)), ("max", number(stats.max)), ("mean", number(stats.mean)), ("std", number(stats.std)),
                ("zeros", f"{stats.zeros:,}"), ("NaN ∞", f"{stats.nonfinite:,}"),
                ("int8", f"{decibels(stats.int8_db)} with one scale"), ("", f"{decibels(stats.channel_db)} with one a row"),
            ]  # fmt: skip
            out += [[(f" {fit(label, 8)}", "dim"), (text, "fg")] for label, text in facts]
            out += [section(" histogram"), [(" " + histogram_text(stats.histogram), "fg")]]
        return [*out, *self._scale(k), *self._beside(k)]

    def _scale(self, k: int) -> list[Line]:
        """Scale and zero point of a weight that is stored as integers."""
        how = scaled(self.weights[k])
        if how is None:
            return []

        def span(values: Any) -> str:
            low, high = number(float(values.min())), number(float(values.max()))
            return low if low == high else f"{low} … {high}"

        per = f"one for each of {how.scale.size:,} along axis {how.axis}" if how.axis is not None else "one for all"
        if how.block:
            per = f"one for {how.block} elements along axis {how.axis}"
        return [
            section(" quantized"),
            [(f" {fit('scale', 8)}", "dim"), (span(how.scale), "fg")], [(f" {fit('', 8)}", "dim"), (per, "dim")],
            [(f" {fit('zero', 8)}", "dim"), (span(how.zero_point) if how.zero_point is not None else "0", "fg")],
        ]  # fmt: skip

    def _beside(self, k: int) -> list[Line]:
        """What it was in A."""
        if not self.pairs:
            return []
        old, apart = self._partner(k), self.apart.get(k)
        out: list[Line] = [section(" A and B")]
        if old is None:
            return [*out, [(" gone from B" if self._sign(k) == "−" else " only in B", "fg")]]
        row = self.before[old]
        out.append([(" A ", "slot.a"), (display_name(row.name), "fg")])
        out.append([(f"   {units.shape(row.shape)}   {row.dtype}   {units.size(row.weight_bytes)}", "dim")])
        if isinstance(apart, str):
            out.append([(" " + display_name(apart), "warn")])
        elif apart is not None and apart.note:
            out.append([(" " + display_name(apart.note), "warn")])
        elif apart is not None:
            same = "equal values" if apart.equal else f"{decibels(apart.sqnr_db)}   max difference {number(apart.max_abs, '.3g')}"  # fmt: skip
            out.append([(" B ", "slot.b"), (same, "fg")])
            if not apart.equal and row.dtype == self.all[k].dtype:
                out.append([(" a rule put other numbers into it: 7 tells", "dim")])
                out.append([(" whether the outputs agree", "dim")])
        return out

    def on_rows_moved(self, message: Rows.Moved) -> None:
        self._ask()
        self._detail()

    def on_rows_opened(self, message: Rows.Opened) -> None:
        from tui.dialogs.slice import SliceDialog

        k = self.rows[message.row]
        self.app.push_screen(SliceDialog(self.all[k].name, self.weights[k]))

    def do_out_export(self) -> None:
        import numpy as np

        from tui.dialogs.export import ask_path

        k = self.rows[self.query_one(Rows).cursor]
        name, weight = self.all[k].name, self.weights[k]
        plain = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)[-60:] or "tensor"
        ask_path(
            self.owb,
            "Save values",
            f"{name}: {units.shape(self.all[k].shape)} {self.all[k].dtype}",
            self.owb.path.with_name(f"{plain}.npy"),
            lambda target: np.save(target, np.asarray(weight.values)),
        )

    def do_sort_reverse(self) -> None:
        self.reverse = not self.reverse
        self._show()

    def why_not(self, action_id: str) -> str:
        if action_id in ("open.row", "out.export", "copy.name") and not self.rows:
            return "no weight here: esc clears the filter" if self.query_text else "this model has no weights"
        if action_id == "jump.reader" and (
            not self.rows or not self.all[self.rows[self.query_one(Rows).cursor]].readers
        ):
            return "nothing reads it"
        return ""

    def do_jump_reader(self) -> None:
        self.owb.show_node_named(self.all[self.rows[self.query_one(Rows).cursor]].readers[0])

    def do_find_filter(self) -> None:
        self.app.query_one(FilterBar).open(self.query_text)

    def on_filter(self, query: str) -> None:
        self.query_text = query
        self._show()

    def do_sort_next(self) -> None:
        self.sort = (self.sort + 1) % len(_SORTS)
        self._show()

    def sentence(self) -> str:
        if self.pairs:
            both = sum(p.before is not None and p.after is not None for p in self.pairs)
            new, gone = sum(p.before is None for p in self.pairs), sum(p.after is None for p in self.pairs)
            return f"{both:,} weights in A and B, {new:,} new, {gone:,} gone: SQNR is of B's values as the graph computes with them"
        return f"{len(self.all):,} weights, {units.size(sum(t.weight_bytes for t in self.all))}: int8 is the noise of rounding to one scale"

    def copy_text(self) -> str:
        return self.all[self.rows[self.query_one(Rows).cursor]].name if self.rows else ""

    def copy_command(self) -> str:
        return f"owb show {self.owb.path} {self.copy_text()!r} --save values.npy"


def differences(wanted: list[tuple[int, Constant, Constant]], cancel: Any) -> dict[int, Difference | str]:
    """How far B's weights are from A's, by row; one that cannot be read says why."""
    found: dict[int, Difference | str] = {}
    for k, before, after in wanted:
        if cancel():
            break
        try:
            found[k] = weight_difference(before, after)
        except BenchError as error:
            found[k] = error.what
    return found


def statistics(wanted: list[tuple[int, Constant]], cancel: Any) -> dict[int, TensorStats | str | None]:
    """Statistics by row; a weight that cannot be read says why."""
    found: dict[int, TensorStats | str | None] = {}
    for k, weight in wanted:
        if cancel():
            break
        try:
            found[k] = tensor_stats(weight.values)
        except BenchError as error:
            found[k] = error.what
    return found
