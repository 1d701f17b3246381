"""A weight's values: the last two axes as numbers with heat, `n` and `N` for the other axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from textual.binding import Binding

from exec.errors import BenchError
from tui.dialogs.dialog import Dialog
from tui.line import Line, Span, fit
from tui.theme import HEAT_GLYPHS
from workbench.render import units
from workbench.render.text import display_name
from workbench.slices import slice_of

_CELL = 10
_ROWS, _COLUMNS = 24, 9


class SliceDialog(Dialog[None]):
    """Reads the weight it is given; nothing is changed."""

    DEFAULT_CSS = "SliceDialog > Vertical { width: 110; }"
    BINDINGS = [
        Binding("down,j", "shift(4,0)", show=False),
        Binding("up,k", "shift(-4,0)", show=False),
        Binding("right,l", "shift(0,4)", show=False),
        Binding("left,h", "shift(0,-4)", show=False),
        Binding("n", "turn(1)", show=False),
        Binding("N", "turn(-1)", show=False),
        Binding("q,enter", "leave", show=False),
    ]
    hint = "hjkl move   n N the other axes   esc closes"

    def __init__(self, name: str, weight: Any) -> None:
        super().__init__()
        self.title_text = display_name(name, 80)
        self.number, self.top, self.left = 0, 0, 0
        self.wrong = ""
        try:
            self.values = np.asarray(weight.values)
        except BenchError as error:
            self.values, self.wrong = np.zeros((0, 0), np.float32), error.what

    def lines(self, width: int) -> list[Line]:
        if self.wrong:
            return [[(self.wrong, "warn")]]
        piece = slice_of(self.values, self.number)
        index = ", ".join([*map(str, piece.index), ":", ":"][-max(self.values.ndim, 1) :])
        head: Line = [(f"[{index}]", "strong"), (f"   {units.shape(self.values.shape)}   piece {self.number % max(piece.count, 1) + 1:,} of {piece.count:,}", "dim")]  # fmt: skip
        if not piece.values.size:
            return [head, [("no elements", "dim")]]
        numeric = piece.values.dtype.kind in "fiuV"
        largest = float(np.nanmax(np.abs(piece.values.astype(np.float64)))) if numeric else 1.0
        rows = range(self.top, min(self.top + _ROWS, piece.values.shape[0]))
        columns = range(self.left, min(self.left + _COLUMNS, piece.values.shape[1]))
        out: list[Line] = [head, [(" " * 7, "dim"), *((fit(str(c), _CELL, right=True), "dim") for c in columns)]]
        for r in rows:
            spans: list[Span] = [(fit(str(r), 6, right=True) + " ", "dim")]
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
        return [(fit(f"{number:.3g}".replace("-", "−"), _CELL - 2, right=True), "fg"), (f" {HEAT_GLYPHS[step]}", f"heat.{step}")]  # fmt: skip

    def action_shift(self, down: int, right: int) -> None:
        """Another part of the piece."""
        piece = slice_of(self.values, self.number)
        self.top = max(0, min(self.top + down, piece.values.shape[0] - 1))
        self.left = max(0, min(self.left + right, piece.values.shape[1] - 1))
        self.update_lines()

    def action_turn(self, step: int) -> None:
        """Another index of the axes before."""
        self.number += step
        self.update_lines()
