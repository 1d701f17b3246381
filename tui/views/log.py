"""9 Log: what was done, as lines that do it again."""

from __future__ import annotations

from typing import Any

from textual.app import ComposeResult

from tui import columns
from tui.columns import Column
from tui.line import Line
from tui.views.view import Pane, View
from tui.widgets.frame import Heads
from tui.widgets.rows import Rows
from workbench.bench import Entry
from workbench.render import units
from workbench.render.text import display_name

_COLUMNS = (Column("time", 8), Column("what", 0), Column("took", 9, right=True, rank=1), Column("result", 26))


class LogView(View):
    """Every action as a command line; newest last.

    Shows    the bench's `Entry` list
    Sends    nothing
    """

    TITLE = "Log"
    KEYS = ("copy.name", "copy.as", "history.undo", "history.redo", "out.save")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.entries: list[Entry] = []

    def compose(self) -> ComposeResult:
        yield Pane("Log", Heads(lambda: _COLUMNS), Rows(id="log-rows"), id="log-pane")

    def arrived(self) -> None:
        self.stale = True
        super().arrived()

    def fill(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        self.entries = list(bench.log)
        self.query_one(Rows).show(len(self.entries), self._row, len(self.entries) - 1)
        self.query_one(Pane).rule.name_pane("Log", f"{len(self.entries)} actions")

    def _row(self, row: int, width: int) -> Line:
        entry = self.entries[row]
        cells: list[Any] = [
            (entry.at, "dim"),
            (display_name(entry.command), "fg"),
            (units.duration(entry.took_ns) if entry.took_ns else "", "dim"),
            (display_name(entry.result), "strong"),
        ]
        return columns.row(_COLUMNS, cells, width)

    def _current(self) -> Entry | None:
        return self.entries[self.query_one(Rows).cursor] if self.entries else None

    def copy_text(self) -> str:
        entry = self._current()
        return entry.command if entry is not None else ""

    def copy_command(self) -> str:
        entry = self._current()
        return entry.python if entry is not None else ""
