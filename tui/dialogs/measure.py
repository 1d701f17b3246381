"""`R` of Profile: engine, runs, threads and the sizes of open axes."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from textual.binding import Binding
from textual.widget import Widget

from tui.dialogs.dialog import Dialog
from tui.line import Line, fit
from tui.widgets.rows import Rows
from workbench.render.text import display_name

ENGINES = ("embedded", "onnxruntime")
_RUNS = (3, 6, 12, 25, 50, 100, 200)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 224, 256, 320, 384, 448, 512, 640, 800, 960, 1024, 1280)


@dataclass(frozen=True, slots=True)
class Measuring:
    """How to measure; `dims` are (symbol, size), those not named get the usual ones."""

    engine: str = "embedded"
    runs: int = 12
    threads: int = 1
    dims: tuple[tuple[str, int], ...] = ()


class MeasureDialog(Dialog[Measuring]):
    """Returns the options to run with."""

    DEFAULT_CSS = "MeasureDialog Rows { height: auto; max-height: 16; }"
    BINDINGS = [
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("right,l,plus,space", "turn(1)", show=False),
        Binding("left,h,minus", "turn(-1)", show=False),
        Binding("enter,r", "accept", show=False),
        Binding("q", "leave", show=False),
    ]
    title_text = "Measure"
    hint = "← → change   enter runs   esc closes"

    def __init__(self, options: Measuring, symbols: list[str]) -> None:
        super().__init__()
        self.options, self.symbols = options, symbols
        self.rows = Rows()

    def extra(self) -> list[Widget]:
        return [self.rows]

    def on_mount(self) -> None:
        super().on_mount()
        count = 3 + len(self.symbols)
        self.rows.styles.height = min(count, 16)
        self.rows.show(count, self._row)
        self.rows.focus()

    def lines(self, width: int) -> list[Line]:
        return [[("inputs are made from a seed; one thread compares best", "dim")], []]

    def _row(self, row: int, width: int) -> Line:
        o = self.options
        known = (("engine", o.engine), ("runs", str(o.runs)), ("threads", str(o.threads)))
        if row < 3:
            label, value = known[row]
        else:
            label = self.symbols[row - 3]
            value = str(dict(o.dims).get(label, "as usual"))
        return [(fit(display_name(label), 28), "dim"), ("◂ ", "line"), (value, "strong"), (" ▸", "line")]

    def action_move(self, step: int) -> None:
        """Another line."""
        self.rows.move(step)

    def action_turn(self, step: int) -> None:
        """Another value on this line."""
        o, row = self.options, self.rows.cursor
        if row == 0:
            self.options = replace(o, engine=ENGINES[(ENGINES.index(o.engine) + step) % len(ENGINES)])
        elif row == 1:
            self.options = replace(o, runs=_next(_RUNS, o.runs, step))
        elif row == 2:
            self.options = replace(o, threads=max(1, min(o.threads + step, os.cpu_count() or 1)))
        else:
            symbol, dims = self.symbols[row - 3], dict(o.dims)
            dims[symbol] = _next(_SIZES, dims.get(symbol, 1), step)
            self.options = replace(o, dims=tuple(dims.items()))
        self.rows.refresh()

    def action_accept(self) -> None:
        """Run with these."""
        self.dismiss(self.options)


def _next(values: tuple[int, ...], now: int, step: int) -> int:
    at = min(range(len(values)), key=lambda k: abs(values[k] - now))
    return values[max(0, min(at + step, len(values) - 1))]
