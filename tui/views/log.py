"""9 Log: what was done, as lines that do it again."""

from __future__ import annotations

import textwrap
from typing import Any

from textual.app import ComposeResult

from tui import columns
from tui.columns import Column
from tui.line import Line, section
from tui.views.view import Pane, View
from tui.widgets.frame import Heads, Seam
from tui.widgets.lines import Text
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
    LABELS = {"open.row": "put B here"}
    DEFAULT_CSS = "LogView #keep { width: 52; }"
    KEYS = ("open.row", "copy.name", "copy.as", "history.undo", "history.redo", "out.save")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.entries: list[Entry] = []

    def compose(self) -> ComposeResult:
        yield Pane("Log", Heads(lambda: _COLUMNS), Rows(id="log-rows"), id="log-pane")
        yield Seam("log-pane").add_class("side")
        yield Pane("Keep", Text(id="keep-text"), id="keep").add_class("side")

    def arrived(self) -> None:
        self.stale = True
        super().arrived()

    def fill(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        self.entries = list(bench.log)
        self.query_one(Rows).show(len(self.entries), self._row, len(self.entries) - 1)
        self.query_one("#keep-text", Text).show(self._keep)
        self.query_one("#log-pane", Pane).rule.name_pane("Log", f"{len(self.entries)} actions")

    def _keep(self, width: int) -> list[Line]:
        """The steps as a recipe and as a script, as `w` would write them."""
        bench = self.owb.bench
        if bench is None or not bench.history.tip:
            return [[], [(" Nothing to keep yet: 4 and 5 change B.", "dim")]]
        out: list[Line] = [section(" recipe, replays byte-same")]
        out += [[(" " + display_name(line), "fg")] for line in bench.recipe().splitlines()]
        out.append(section(" script"))
        out += [
            [(" " + part, "fg")]
            for line in bench.script("out.onnx").splitlines()
            for part in textwrap.wrap(display_name(line), max(width - 2, 20), subsequent_indent="    ")
        ]
        return [*out, [], [(" w ", "focus"), ("writes model, recipe, script, report", "dim")]]

    def on_rows_opened(self, message: Rows.Opened) -> None:
        """B goes to the step of the line."""
        entry, bench = self._current(), self.owb.bench
        if entry is None or entry.step is None or bench is None or entry.step >= len(bench.history.steps):
            self.owb.say("this line made no step", "dim")
            return
        bench.put_b(entry.step)
        self.owb.state_changed()
        self.owb.say(f"B is step {entry.step}")

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

    def sentence(self) -> str:
        return "every line is a command: y copies it, Y the same in Python; w keeps the steps as model, recipe, script and report"

    def copy_text(self) -> str:
        entry = self._current()
        return entry.command if entry is not None else ""

    def copy_command(self) -> str:
        entry = self._current()
        return entry.python if entry is not None else ""
