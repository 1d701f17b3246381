"""3 Tensors: the weights, the values computed on the way, and what numbers they hold; rows on screen are looked at first."""

from __future__ import annotations

import shlex
from typing import Any

from textual.app import ComposeResult

from exec.errors import BenchError
from exec.ir import Constant
from exec.metrics import Difference
from exec.wording import counted
from tui import columns
from tui.columns import Column
from tui.line import Line
from tui.numbers import decibels, number
from tui.views import tensorrows
from tui.views.columnsets import ColumnSets
from tui.views.filtered import Filtered, shown_of
from tui.views.nodelist import SIGNS
from tui.views.tensormarks import TensorMarks
from tui.views.tensorpage import beside, page, scale_lines
from tui.views.tensorrows import TensorEntry
from tui.views.view import Pane
from tui.widgets.frame import Heads, Seam
from tui.widgets.lines import Text
from tui.widgets.rows import Rows
from workbench.activations import activations
from workbench.lookup import Lookup
from workbench.render import units
from workbench.render.text import display_name
from workbench.symbols import Symbols
from workbench.tensors import TensorRow, TensorStats, tensor_rows, tensor_stats
from workbench.weightpairs import Pair, pair_up, weight_difference

_BOTH = (
    Column("", 1), Column("name", 0, keep="end"), Column("shape", 14, right=True, rank=2), Column("A", 8, rank=4), Column("B", 8, rank=4),
    Column("A size", 8, right=True, rank=3), Column("B size", 8, right=True, rank=1), Column("SQNR", 8, right=True), Column("max diff", 8, right=True, rank=5),
)  # fmt: skip
_AHEAD = 40
_SORTS = ("size", "order", "name")


class TensorsView(TensorMarks, ColumnSets, Filtered):
    """What the weights are and what is computed with them: range, histogram, and the noise int8 would add.

    Shows    weights with the `TensorStats` of those looked at, values as one run computed them; in A→B what became of A's weights
    Sends    Activations on r; statistics of weights are asked for in the background
    Empty    says that no weight matches, or which key computes the values
    """

    TITLE = "Tensors"
    FACES = ("weights", "activations", "all")
    SETS = tensorrows.SETS
    LABELS = {"open.row": "values", "sort.next": "sort", "jump.reader": "readers", "jump.producer": "maker", "measure.next": "columns", "mark.alike": "same shape", "run.now": "compute"}  # fmt: skip
    KEYS = ("open.row", "find.filter", "sort.next", "face.next", "measure.next", "mark.alike", "jump.reader", "out.export", "copy.name", "copy.as")  # fmt: skip
    COMPUTED_KEYS = ("open.row", "run.now", "find.filter", "sort.next", "face.next", "measure.next", "mark.alike", "jump.producer", "jump.reader", "out.export")  # fmt: skip
    KEPT = ("query_text", "sort", "reverse", "face", "column_set")
    DEFAULT_CSS = "TensorsView #tensor { width: 48; }"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.all: list[TensorEntry] = []
        self.rows: list[int] = []
        self.stats: dict[int, TensorStats | str | None] = {}
        self.query_text, self.sort, self.reverse = "", 0, False
        self.before: list[TensorRow] = []
        self.old_weights: list[Constant] = []
        self.pairs: list[Pair] = []  # empty where one model is shown
        self.apart: dict[int, Difference | str] = {}
        self.symbols = Symbols()

    def compose(self) -> ComposeResult:
        yield Pane("Tensors", Heads(self._columns), Rows(id="tensor-rows"), id="tensors-pane")
        yield Seam("tensors-pane").add_class("side")
        yield Pane("Tensor", Text(id="tensor-text"), id="tensor").add_class("side")

    # ── filling ────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def computes(self) -> bool:
        """Whether values that nodes make stand in the list."""
        return self.FACES[self.face] != "weights"

    def fill(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        both = bench.shown == "A→B" and not bench.same and not self.computes
        rows, weights = tensor_rows(bench.model("B") if both else bench.current())
        self.before, self.old_weights = tensor_rows(bench.model("A")) if both else ([], [])
        self.pairs = pair_up(self.old_weights, weights) if both else []
        gone = [p.before for p in self.pairs if p.after is None and p.before is not None]
        rows += [self.before[k] for k in gone]
        weights += [self.old_weights[k] for k in gone]
        face = self.FACES[self.face]
        self.all = [tensorrows.of_weight(r, w) for r, w in zip(rows, weights, strict=True)] if face != "activations" else []  # fmt: skip
        self.stats, self.apart, self.symbols = {}, {}, Symbols(bench.current())
        self.marks.clear()
        self.query_one(Heads).refresh()
        self.refill()
        if self.computes:
            self.owb.bridge.run("values", "reading names", lambda p, c: bench.lookup(), self._named, quiet=True)

    def _named(self, lookup: Lookup) -> None:
        """Names of computed values are there, and what a run found of them if there was one."""
        bench = self.owb.bench
        if bench is None or not self.computes or lookup.model is not bench.current():
            return
        known = bench.results.activations.get(bench.key(), {})
        self.all = [e for e in self.all if e.maker is None]
        for row in activations(lookup):
            done = known.get(row.name)
            if done is not None:
                self.stats[len(self.all)] = done.stats
            self.all.append(tensorrows.of_activation(row, done))
        self.refill()

    def learnt(self) -> None:
        """Shapes have come."""
        bench = self.owb.bench
        ready = bench.results.lookups.get(bench.key()) if bench is not None else None
        if self.computes and ready is not None and ready.known is not None:
            self._named(ready)

    def _columns(self) -> tuple[Column, ...]:
        return _BOTH if self.pairs else tensorrows.titles(self.SETS[self.column_set % len(self.SETS)])

    def columns_changed(self) -> None:
        self.query_one(Heads).refresh()
        self.query_one(Rows).refresh()

    def refill(self) -> None:
        self.sort %= len(_SORTS)
        self.rows = [k for k, row in enumerate(self.all) if self.lets_through(row.name)]
        if _SORTS[self.sort] == "size":
            self.rows.sort(key=lambda k: -(self.all[k].value_bytes or 0))
        elif _SORTS[self.sort] == "name":
            self.rows.sort(key=lambda k: self.all[k].name)
        if self.reverse:
            self.rows.reverse()
        self.query_one(Rows).show(len(self.rows), self._row)
        self.show_marks()
        self._ask()
        self._detail()
        self.owb.refresh_footer()

    def show_marks(self) -> None:
        name = "Tensors A→B" if self.pairs else {"weights": "Tensors", "activations": "Activations", "all": "Weights and activations"}[self.FACES[self.face]]  # fmt: skip
        marked = f"{len(self.marks)} marked · " if self.marks else ""
        order = _SORTS[self.sort] + (" ↑" if self.reverse else "")
        self.query_one("#tensors-pane", Pane).rule.name_pane(name, f"{marked}{len(self.rows):,} of {len(self.all):,} · {order}")  # fmt: skip
        self.query_one(Rows).refresh()

    def hits(self) -> str:
        return shown_of(len(self.rows), len(self.all), "tensor")

    def _ask(self) -> None:
        """Compute statistics of the weights on screen and a few beyond, those that are not known yet."""
        rows = self.query_one(Rows)
        top = rows.scroll_offset.y
        near = self.rows[top : top + rows.size.height + _AHEAD]
        wanted = [(k, w) for k in near if k not in self.stats and (w := self.all[k].weight) is not None]
        two = [(k, self.old_weights[o], w) for k in near if k not in self.apart and (o := self._partner(k)) is not None and (w := self.all[k].weight) is not None]  # fmt: skip

        def work(progress: Any, cancel: Any) -> tuple[dict[int, TensorStats | str | None], dict[int, Difference | str]]:
            return statistics(wanted, cancel), differences(two, cancel)

        if wanted or two:
            self.owb.bridge.run("statistics", "reading weights", work, self._computed, quiet=True)

    def _computed(self, found: tuple[dict[int, TensorStats | str | None], dict[int, Difference | str]]) -> None:
        self.stats.update(found[0])
        self.apart.update(found[1])
        self.query_one(Rows).refresh()
        self._detail()

    # ── rows ───────────────────────────────────────────────────────────────────────────────────────────────────────

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
        size = units.size(here.value_bytes or 0)
        known = isinstance(apart, Difference) and not apart.note
        was = (here.dtype, size) if gone else ("", "")
        if old is not None:
            was = (self.before[old].dtype, units.size(self.before[old].weight_bytes))
        cells: list[Any] = [
            ("●", "focus") if k in self.marks else (sign, SIGNS.get(sign, "dim")), (display_name(here.name), "dim" if gone else "fg"), (units.shape(here.shape), "dim"),
            (was[0], "slot.a"), ("" if gone else here.dtype, "slot.b"), (was[1], "fg"), ("" if gone else size, "fg"),
            (decibels(apart.sqnr_db) if known else "", "fg"), (number(apart.max_abs, ".1e") if known and not apart.equal else "", "dim"),  # type: ignore[union-attr]
        ]  # fmt: skip
        return columns.row(_BOTH, cells, width)

    def _row(self, row: int, width: int) -> Line:
        k = self.rows[row]
        if self.pairs:
            return self._pair_row(k, width)
        stats = self.stats.get(k)
        known = stats if isinstance(stats, TensorStats) else None
        return tensorrows.cells(self.all[k], known, self.SETS[self.column_set % len(self.SETS)], self._total(), k in self.marks, self.symbols, width)  # fmt: skip

    def _total(self) -> int:
        return sum(e.value_bytes or 0 for e in self.all)

    def _detail(self) -> None:
        self.query_one("#tensor-text", Text).show(self._lines)

    def _lines(self, width: int) -> list[Line]:
        k = self.at()
        if k is None:
            return [[(" " + self._empty(), "dim")]]
        entry, stats = self.all[k], self.stats.get(k)
        waiting = "reading …" if k not in self.stats else "no statistics for this type"
        if entry.maker is not None and k not in self.stats:
            waiting = "not computed yet: r runs the model once"
        out = [*page(entry, stats, waiting, self.symbols, self.maker_name(entry)), *scale_lines(entry.weight)]
        if self.pairs:
            old = self._partner(k)
            out += beside(self._sign(k), None if old is None else self.before[old], entry.dtype, self.apart.get(k))
        return out

    def _empty(self) -> str:
        if self.query_text:
            return "no tensor matches: esc clears the filter"
        return "this model computes nothing" if self.computes else "this model has no weights: t shows what it computes"

    def at(self) -> int | None:
        return self.rows[self.query_one(Rows).cursor] if self.rows else None

    def on_rows_moved(self, message: Rows.Moved) -> None:
        self._ask()
        self._detail()
        self.owb.refresh_footer()

    # ── actions ────────────────────────────────────────────────────────────────────────────────────────────────────

    def footer(self) -> list[tuple[str, str, bool]]:
        keys = self.COMPUTED_KEYS if self.computes else self.KEYS
        labels = {**self.LABELS, "face.next": self.FACES[(self.face + 1) % 3], "out.export": f"save {len(self.marks)} .npz" if self.marks else "save .npy"}  # fmt: skip
        return [(a, labels.get(a, ""), not (self.why_not(a) or self.owb.why_not(a))) for a in keys]

    def why_not(self, action_id: str) -> str:
        k, bench = self.at(), self.owb.bench
        if action_id == "run.now":
            if not self.computes:
                return "the statistics of weights come by themselves; t shows what is computed with them"
            if "activations" in self.owb.bridge.jobs:
                return "already running: ctrl+c stops it"
            if bench is not None and bench.key() in bench.results.activations:
                return "computed already: the same inputs would give the same values"
        if action_id in ("open.row", "out.export", "copy.name", "copy.as", "mark.toggle", "mark.range", "mark.alike") and k is None:  # fmt: skip
            return self._empty()
        if action_id == "jump.producer" and (k is None or self.all[k].maker is None):
            return "an initializer: nothing makes it"
        if action_id == "jump.reader" and (k is None or not self.all[k].readers):
            return "nothing reads it"
        if action_id == "measure.next" and self.pairs:
            return "A→B has one set of columns: b shows A or B"
        return ""

    def do_run_now(self) -> None:
        bench = self.owb.bench
        assert bench is not None

        def done(found: Any) -> None:
            self.stale = True
            if self.owb.current == self.id:
                self.arrived()
            self.say(f"{counted(len(found), 'value')} of one run on generated inputs")

        self.owb.bridge.run("activations", "computing every value", bench.activations, done)
        self.owb.refresh_footer()

    def do_face_next(self) -> None:
        self.face = (self.face + 1) % len(self.FACES)
        self.fill()
        self.owb.refresh_frame()

    def do_sort_reverse(self) -> None:
        self.reverse = not self.reverse
        self.refill()

    def do_sort_next(self) -> None:
        self.sort = (self.sort + 1) % len(_SORTS)
        self.refill()

    def sentence(self) -> str:
        if self.pairs:
            both = sum(p.before is not None and p.after is not None for p in self.pairs)
            new, gone = sum(p.before is None for p in self.pairs), sum(p.after is None for p in self.pairs)
            return f"{counted(both, 'weight')} in A and B, {new:,} new, {gone:,} gone: SQNR is of B's values as the graph computes with them"
        count = counted(len(self.all), "tensor" if self.computes else "weight")
        unknown = any(e.value_bytes is None for e in self.all)
        if unknown:
            return f"{count}: r runs the model once and looks at every value"
        return f"{count}, {units.size(self._total())}; int8: noise of rounding to one scale"

    def copy_text(self) -> str:
        k = self.at()
        return self.all[k].name if k is not None else ""

    def copy_command(self) -> str:
        k = self.at()
        if k is None or self.all[k].weight is None:
            return ""
        return f"owb show {self.shown_file()} {shlex.quote(self.copy_text())} --save values.npy"

    def copy_data(self) -> tuple[Any, str] | None:
        k = self.at()
        if k is None:
            return None
        e = self.all[k]
        return {"name": e.name, "dtype": e.dtype, "shape": e.shape, "bytes": e.value_bytes, "readers": e.readers, "stats": self.stats.get(k)}, "tensor"  # fmt: skip


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
