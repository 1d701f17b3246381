"""The flat list of nodes: any order, one measure beside each, and in A→B what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tui import columns
from tui.columns import Column
from tui.line import Line, Span, fit
from tui.numbers import decibels, number
from tui.theme import HEAT_GLYPHS, heat_of_share, heat_of_sqnr, operator_token
from tui.widgets.rows import Rows
from workbench.drawing.rails import NODE, rails
from workbench.lineup import Lineup
from workbench.lookup import Lookup
from workbench.nodeerrors import NodeError
from workbench.nodes import NodeId
from workbench.render import units
from workbench.render.text import display_name

SORTS = ("order", "time", "MACs", "bytes", "params", "operator")
MEASURES = ("none", "time", "MACs", "bytes", "params", "dtype", "error")
SIGNS = {"+": "diff.add", "−": "diff.drop", "~": "diff.edit", "=": "dim"}
_HEADS = {
    "time": "",
    "MACs": "MACs",
    "bytes": "bytes",
    "params": "params",
    "dtype": "dtype",
    "error": "SQNR",
    "none": "",
}


class NodeList(Rows):
    """Rows are rows of the table; a negative one −1−r is row r of A that is gone from B."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.lookup: Lookup | None = None
        self.before: Lookup | None = None
        self.lineup: Lineup | None = None
        self.rows: list[int] = []
        self.place: dict[int, int] | None = {}  # None where each row stands at its own number
        self.sort, self.reverse, self.measure = "order", False, "MACs"
        self.errors: dict[int, NodeError] = {}
        self.scope = ""
        self.ghosts = True
        self.marks: set[NodeId] = set()
        self.bookmarks: list[NodeId] = []
        self.railed = False  # wires are drawn as rails at the left
        self.wires: list[str] = []

    # ── content ────────────────────────────────────────────────────────────────────────────────────────────────────

    def fill(self, rows: list[int], gone: list[int], cursor: int | None) -> None:
        """Show rows of B in the chosen order, and rows of A that are gone where they stood."""
        self.wires = []
        if self.railed:
            rows = self._with_wires(rows)
        else:
            rows = self._sorted(rows)
        if not self.railed and self.lineup is not None and self.ghosts and gone:
            rows = self._with_ghosts(rows, set(gone))
        self.rows, self.place = rows, None if rows == list(range(len(rows))) else {r: k for k, r in enumerate(rows)}
        self.show(len(rows), self._row, (self.row_of(cursor) or 0) if cursor is not None else None)

    def _sorted(self, rows: list[int]) -> list[int]:
        assert self.lookup is not None
        table = self.lookup.table
        if self.sort == "operator":
            rows = sorted(rows, key=lambda r: table.op[r])
        elif self.sort != "order":
            column = self.lookup.column(self.sort)
            rows = sorted(rows, key=lambda r: -(column[r] or 0))
        return rows[::-1] if self.reverse else rows

    def _with_wires(self, rows: list[int]) -> list[int]:
        """Rails for the nodes that compute, among the rows shown."""
        assert self.lookup is not None
        table = self.lookup.table
        rows = [r for r in rows if table.op[r] != "Constant"]
        place = {id(table.node[r]): k for k, r in enumerate(rows)}
        reads = [[place[id(m)] for t in table.node[r].inputs for m in t.inputs if id(m) in place] for r in rows]
        self.wires = rails(reads)
        return rows

    def _wire(self, row: int, token: str) -> Line:
        """The rails of a row, its own dot in the colour of its operator."""
        wide = fit(self.wires[row], self.columns()[0].cells)
        left, dot, right = wide.partition(NODE)
        return [(left, "line"), (dot, token), (right, "line")]

    def _with_ghosts(self, rows: list[int], gone: set[int]) -> list[int]:
        assert self.lineup is not None
        after: dict[int, list[int]] = {}
        shown = set(rows)
        for a_row, b_row in self.lineup.gone:
            if a_row in gone and self.before is not None and self.before.table.op[a_row] != "Constant":
                after.setdefault(b_row if b_row in shown else -1, []).append(-1 - a_row)
        out = after.pop(-1, [])
        for r in rows:
            out.append(r)
            out += after.get(r, [])
        return out

    def row_of(self, row: int) -> int | None:
        """Where a table row stands."""
        if self.place is None:
            return row if 0 <= row < len(self.rows) else None
        return self.place.get(row)

    # ── drawing ────────────────────────────────────────────────────────────────────────────────────────────────────

    def columns(self) -> tuple[Column, ...]:
        """The columns of the current measure; in A→B the times of both and the origin."""
        if self.railed:
            widest = max(map(len, self.wires), default=1)
            return (Column("", widest), Column("operator", 12), Column("name", 0, keep="end"), Column("output", 14, right=True, rank=2), Column("", 1), Column("", 1))  # fmt: skip
        sign = (Column("", 1),) if self.lineup is not None else ()
        if self.measure == "error":
            figures = (Column("max diff", 9, right=True, rank=4), Column("SQNR", 9, right=True, rank=1))
            return (*sign, Column("operator", 12), Column("name", 0, keep="end"), Column("output", 14, right=True, rank=2), *figures, Column("", 1), Column("", 1))  # fmt: skip
        unit, _, _ = self._unit()
        name = (Column("operator", 12), Column("name", 0, keep="end"), Column("output", 14, right=True, rank=2))
        if self.lineup is not None:
            if not self._both_timed():
                return (*sign, *name, Column("from A", 16, rank=1, keep="end"))
            times = (Column(f"A {unit}", 8, right=True, rank=4), Column(f"B {unit}", 8, right=True, rank=3))
            return (
                *sign,
                *name[:2],
                Column("output", 16, right=True, rank=5),
                *times,
                Column("from A", 16, rank=1, keep="end"),
            )
        if self.measure == "none":
            return (*name, Column("", 1))
        second = Column("MACs", 8, right=True, rank=4) if self.measure != "MACs" else Column("params", 8, right=True, rank=4)  # fmt: skip
        share = () if self.measure == "dtype" else (Column("%", 5, right=True, rank=3), Column("", 1))
        return (*name, second, Column(_HEADS[self.measure] or unit, 9, right=True, rank=1), *share, Column("", 1))

    def _row(self, row: int, width: int) -> Line:
        assert self.lookup is not None
        r = self.rows[row]
        if r < 0:
            return columns.row(self.columns(), self._ghost(-1 - r), width)
        table = self.lookup.table
        cells: list[Any] = [
            (display_name(table.op[r]), operator_token(table.op[r], table.domain[r])), (self._short(table.label(r)), "fg"),
            (display_name(self.lookup.symbols.shape(table.shape[r])), "dim"),
        ]  # fmt: skip
        if self.railed:
            return columns.row(
                self.columns(), [self._wire(row, cells[0][1]), *cells, self._heat(r), self._mark(r)], width
            )
        if self.measure == "error":
            sign = self.lineup.sign.get(r, "=") if self.lineup is not None else ""
            cells = [*([(sign, SIGNS[sign])] if sign else []), *cells, *self._error(r), self._heat(r), self._mark(r)]
        elif self.lineup is not None:
            sign = self.lineup.sign.get(r, "=")
            sources = self.lineup.origin.get(r, ()) if sign != "=" else ()
            if not self._both_timed():
                return columns.row(self.columns(), [(sign, SIGNS[sign]), *cells, (self._origin(sources), "dim")], width)
            before = [self._ms(self.before, a) for a in self.lineup.origin.get(r, ())]
            known = [t for t in before if t is not None]
            cells = [(sign, SIGNS[sign]), *cells, self._time(sum(known) if known else None), self._time(self._ms(self.lookup, r)), (self._origin(sources), "dim")]  # fmt: skip
        elif self.measure == "none":
            cells.append(self._mark(r))
        else:
            cells += [*self._numbers(r), self._mark(r)]
        return columns.row(self.columns(), cells, width)

    def _both_timed(self) -> bool:
        """Whether A's or B's times can stand beside each other; otherwise there is room for shapes."""
        return any(lookup is not None and lookup.timed for lookup in (self.before, self.lookup))

    def _ghost(self, a_row: int) -> list[Any]:
        assert self.before is not None
        assert self.lineup is not None
        table, became = self.before.table, self.lineup.became.get(a_row)
        to = f"→ {fit(display_name(self._short(self.lookup.table.label(became))), 14, keep='end')}" if became is not None and self.lookup is not None else ""  # fmt: skip
        if not self._both_timed():
            shape = display_name(self.before.symbols.shape(table.shape[a_row]))
            return [("−", "diff.drop"), (display_name(table.op[a_row]), "dim"), (self._short(table.label(a_row)), "dim"), (shape, "dim"), (to, "dim")]  # fmt: skip
        return [
            ("−", "diff.drop"), (display_name(table.op[a_row]), "dim"), (self._short(table.label(a_row)), "dim"), ("", "dim"),
            self._time(self._ms(self.before, a_row)), ("", "dim"), (to, "dim"),
        ]  # fmt: skip

    def _numbers(self, r: int) -> list[Span]:
        assert self.lookup is not None
        table = self.lookup.table
        second = table.macs[r] if self.measure != "MACs" else table.params[r] or None
        out: list[Span] = [(units.count(second), "dim")]
        if self.measure == "dtype":
            return [*out, (table.dtype[r] or "–", operator_token(table.op[r], ""))]
        value = self.lookup.column(self.measure)[r]
        text = self._time(value)[0] if self.measure == "time" else units.size(value) if self.measure == "bytes" else units.count(value or None)  # fmt: skip
        share = self.lookup.share(r, self.measure) if value else None
        return [*out, (text, "fg"), ("" if share is None else f"{100 * share:.1f}", "dim"), self._heat(r)]

    def _error(self, r: int) -> list[Span]:
        error = self.errors.get(r)
        return [("", "dim"), ("–", "dim")] if error is None else [(number(error.max_abs, ".2g"), "dim"), (decibels(error.sqnr_db), "fg")]  # fmt: skip

    def error_words(self, rows: Sequence[int]) -> tuple[str, str]:
        """For a box: the worst error of its rows with its glyph, and the largest difference."""
        known = [self.errors[r] for r in rows if r in self.errors]
        if not known:
            return "", ""
        worst = min(known, key=lambda e: e.sqnr_db)
        return (
            f"{HEAT_GLYPHS[heat_of_sqnr(worst.sqnr_db) or 0]} {decibels(worst.sqnr_db)}",
            f"max {number(max(e.max_abs for e in known), '.2g')}",
        )

    def heat(self, rows: Sequence[int]) -> int | None:
        """The step of some rows together: their share of the measure, or the worst of their errors."""
        if self.lookup is None or self.measure in ("none", "dtype"):
            return None
        if self.measure == "error":
            return heat_of_sqnr(min((self.errors[r].sqnr_db for r in rows if r in self.errors), default=None))
        total, column = self.lookup.total(self.measure), self.lookup.column(self.measure)
        return heat_of_share(sum(column[r] or 0 for r in rows) / total) if total else None

    def lacks(self, measure: str) -> str:
        """What a measure waits for, "" where it is there."""
        if measure == "time" and (self.lookup is None or not self.lookup.timed):
            return "time needs a profile: 6 r"
        return "error needs a comparison: 7 r" if measure == "error" and not self.errors else ""

    def _heat(self, r: int) -> Span:
        """The glyph of the row's share of the measure, or of its error."""
        assert self.lookup is not None
        if self.measure == "error":
            heat = self.heat([r])
            return ("", "line") if heat is None else (HEAT_GLYPHS[heat], f"heat.{heat}")
        if self.measure in ("none", "dtype") or not self.lookup.column(self.measure)[r]:
            return ("", "line")
        heat = heat_of_share(self.lookup.share(r, self.measure))
        return ("", "line") if heat is None else (HEAT_GLYPHS[heat], f"heat.{heat}")

    def _mark(self, r: int) -> Span:
        assert self.lookup is not None
        node = self.lookup.table.id[r]
        return ("●", "focus") if node in self.marks else ("◦", "focus") if node in self.bookmarks else ("", "dim")

    def _short(self, label: str) -> str:
        name = display_name(label)
        return name[len(self.scope) :].lstrip("/.") if self.scope and name.startswith(self.scope) else name

    def _origin(self, sources: tuple[int, ...]) -> str:
        if self.before is None or not sources:
            return ""
        first = display_name(self._short(self.before.table.label(sources[0])))
        return first + (f" + {len(sources) - 1}" if len(sources) > 1 else "")

    @staticmethod
    def _ms(lookup: Lookup | None, row: int) -> float | None:
        return None if lookup is None or not lookup.timed else lookup.table.time_ns[row]

    def _unit(self) -> tuple[str, float, int]:
        timed = self.lookup is not None and self.lookup.timed
        return columns.time_unit(self.lookup.total("time") if self.lookup is not None and timed else 1e9)

    def _time(self, value_ns: float | None) -> Span:
        _, size, decimals = self._unit()
        return ("–", "dim") if value_ns is None else (f"{value_ns / size:.{decimals}f}", "fg")
