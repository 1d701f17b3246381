"""3 Tensors: the weights and what values they hold; statistics are computed for rows on screen first."""

from __future__ import annotations

from typing import Any

from textual.app import ComposeResult

from exec.errors import BenchError
from exec.ir import Constant
from tui import columns
from tui.columns import Column
from tui.line import Line, fit, section
from tui.numbers import number
from tui.theme import HEAT_GLYPHS, heat_of_sqnr
from tui.views.view import Pane, View
from tui.widgets.filterbar import FilterBar
from tui.widgets.frame import Heads, Seam
from tui.widgets.lines import Text
from tui.widgets.rows import Rows
from workbench.render import units
from workbench.render.showing import histogram_text
from workbench.render.text import display_name
from workbench.tensors import TensorRow, TensorStats, tensor_rows, tensor_stats

_COLUMNS = (
    Column("name", 0, keep="end"), Column("dtype", 8, rank=4), Column("shape", 16, right=True, rank=2), Column("size", 9, right=True, rank=1),
    Column("min", 9, right=True, rank=3), Column("max", 9, right=True, rank=3), Column("histogram", 24, rank=5), Column("int8", 8, right=True), Column("", 1),
)  # fmt: skip
_AHEAD = 40
_SORTS = ("size", "order", "name")


class TensorsView(View):
    """What the weights are: range, histogram, and the noise int8 would add.

    Shows    `TensorRow` of every weight, `TensorStats` of those looked at
    Sends    nothing; statistics are asked for in the background
    """

    TITLE = "Tensors"
    KEYS = ("open.row", "find.filter", "sort.next", "sort.reverse", "jump.reader", "out.export", "copy.name", "copy.as")
    LABELS = {"open.row": "values", "sort.next": "sort", "jump.reader": "node", "out.export": "save .npy"}
    DEFAULT_CSS = "TensorsView #tensor { width: 48; }"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.all: list[TensorRow] = []
        self.weights: list[Constant] = []
        self.rows: list[int] = []
        self.stats: dict[int, TensorStats | str | None] = {}
        self.query_text, self.sort, self.reverse = "", 0, False

    def compose(self) -> ComposeResult:
        yield Pane("Tensors", Heads(lambda: _COLUMNS), Rows(id="tensor-rows"), id="tensors-pane")
        yield Seam("tensors-pane").add_class("side")
        yield Pane("Tensor", Text(id="tensor-text"), id="tensor").add_class("side")

    def fill(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        self.all, self.weights = tensor_rows(bench.current())
        self.stats = {}
        self._show()

    def _show(self) -> None:
        words = self.query_text.lower().split()
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
            "Tensors", f"{len(self.rows):,} of {len(self.all):,} · {_SORTS[self.sort]}"
        )
        self._ask()
        self._detail()

    def _ask(self) -> None:
        """Compute statistics of the rows on screen and a few beyond, those that are not known yet."""
        rows = self.query_one(Rows)
        top = rows.scroll_offset.y
        wanted = [(k, self.weights[k]) for k in self.rows[top : top + rows.size.height + _AHEAD] if k not in self.stats]
        if wanted:
            self.owb.bridge.run(
                "statistics",
                "reading weights",
                lambda progress, cancel: statistics(wanted, cancel),
                self._computed,
                quiet=True,
            )

    def _computed(self, found: dict[int, TensorStats | str | None]) -> None:
        self.stats.update(found)
        self.query_one(Rows).refresh()
        self._detail()

    def _row(self, row: int, width: int) -> Line:
        k = self.rows[row]
        tensor, stats = self.all[k], self.stats.get(k)
        known = stats if isinstance(stats, TensorStats) else None
        heat = heat_of_sqnr(known.int8_db) if known is not None else None
        cells: list[Any] = [
            (display_name(tensor.name), "fg"), (tensor.dtype, "dim"), (units.shape(tensor.shape), "dim"), (units.size(tensor.weight_bytes), "fg"),
            (number(known.min) if known else "", "fg"), (number(known.max) if known else "", "fg"),
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
                ("int8", f"{units.decibel(stats.int8_db)} with one scale"), ("", f"{units.decibel(stats.channel_db)} with one a row"),
            ]  # fmt: skip
            out += [[(f" {fit(label, 8)}", "dim"), (text, "fg")] for label, text in facts]
            out += [section(" histogram"), [(" " + histogram_text(stats.histogram), "fg")]]
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
        return f"{len(self.all):,} weights, {units.size(sum(t.weight_bytes for t in self.all))}: int8 is the noise of rounding to one scale"

    def copy_text(self) -> str:
        return self.all[self.rows[self.query_one(Rows).cursor]].name if self.rows else ""

    def copy_command(self) -> str:
        return f"owb show {self.owb.path} {self.copy_text()!r} --save values.npy"


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
