"""A tensor's values: two axes as numbers with heat, `t` for another two, `n` and `N` along the axes that are not shown."""

from __future__ import annotations

from typing import Any

import numpy as np
from textual.binding import Binding

from exec.arrays import Array
from tui.dialogs.dialog import Dialog
from tui.line import Line, Span, fit
from tui.numbers import number as show
from tui.theme import HEAT_GLYPHS
from workbench.render import units
from workbench.render.text import display_name
from workbench.slices import Axes, Slice, axis_pairs, slice_of

_CELL, _LABEL = 12, 7
_ROWS = 24


class SliceDialog(Dialog[None]):
    """Shows the values it is given; nothing is changed."""

    DEFAULT_CSS = "SliceDialog > Vertical { width: 110; }"
    BINDINGS = [
        Binding("down,j", "shift(4,0)", show=False),
        Binding("up,k", "shift(-4,0)", show=False),
        Binding("right,l", "shift(0,4)", show=False),
        Binding("left,h", "shift(0,-4)", show=False),
        Binding("n", "turn(1)", show=False),
        Binding("N", "turn(-1)", show=False),
        Binding("t", "other_axes", show=False),
        Binding("q,enter", "leave", show=False),
    ]
    hint = "hjkl move   n N along the other axes   t other two axes   esc closes"

    def __init__(self, name: str, values: Array) -> None:
        super().__init__()
        self.title_text = display_name(name, 80)
        self.number, self.top, self.left = 0, 0, 0
        self.values = values
        self.pairs: list[Axes | None] = [*axis_pairs(self.values.shape)] or [None]
        self.pair = 0

    def _piece(self) -> Slice:
        return slice_of(self.values, self.number, self.pairs[self.pair])

    def lines(self, width: int) -> list[Line]:
        piece = self._piece()
        index = ", ".join(":" if i is None else str(i) for i in piece.index) or "scalar"
        head: Line = [(f"[{index}]", "strong"), (f"   {units.shape(self.values.shape)}   piece {self.number % max(piece.count, 1) + 1:,} of {piece.count:,}", "dim")]  # fmt: skip
        if not piece.values.size:
            return [head, [("no elements", "dim")]]
        numeric = piece.values.dtype.kind in "fiuV"
        largest = float(np.nanmax(np.abs(piece.values.astype(np.float64)))) if numeric else 1.0
        rows = range(self.top, min(self.top + _ROWS, piece.values.shape[0]))
        columns = range(self.left, min(self.left + max((width - _LABEL) // _CELL, 1), piece.values.shape[1]))
        out: list[Line] = [
            head,
            [(" " * _LABEL, "dim"), *((fit(str(c), _CELL - 2, right=True) + "  ", "dim") for c in columns)],
        ]
        for r in rows:
            spans: list[Span] = [(fit(str(r), _LABEL - 1, right=True) + " ", "dim")]
            for c in columns:
                spans += self._cell(piece.values[r, c], largest, numeric)
            out.append(spans)
        return out

    @staticmethod
    def _cell(value: Any, largest: float, numeric: bool) -> list[Span]:
        if not numeric:
            return [(fit(display_name(str(value)), _CELL, right=True), "fg")]
        number = float(value)
        share = abs(number) / largest if largest and np.isfinite(number) else 1.0
        step = min(int(share * 5), 4)
        return [(fit(show(number, ".3g"), _CELL - 2, right=True), "fg"), (f" {HEAT_GLYPHS[step]}", f"heat.{step}")]  # fmt: skip

    def action_shift(self, down: int, right: int) -> None:
        """Another part of the piece."""
        piece = self._piece()
        self.top = max(0, min(self.top + down, piece.values.shape[0] - 1))
        self.left = max(0, min(self.left + right, piece.values.shape[1] - 1))
        self.update_lines()

    def action_turn(self, step: int) -> None:
        """Another index of the axes that are not shown."""
        self.number += step
        self.update_lines()

    def action_other_axes(self) -> None:
        """Another two axes."""
        self.pair = (self.pair + 1) % len(self.pairs)
        self.number = self.top = self.left = 0
        self.update_lines()
