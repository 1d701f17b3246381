"""9 Log: what was done, as lines that do it again."""

from __future__ import annotations

import textwrap
from typing import Any

from textual.app import ComposeResult

from exec.wording import counted
from tui import columns
from tui.columns import Column
from tui.line import Line, section
from tui.views.filtered import Filtered, shown_of
from tui.views.view import Pane
from tui.widgets.frame import Heads, Seam
from tui.widgets.lines import Text
from tui.widgets.rows import Rows
from workbench.bench import Entry
from workbench.render import units
from workbench.render.text import display_name

_COLUMNS = (
    Column("", 1),
    Column("time", 8),
    Column("what", 0),
    Column("took", 9, right=True, rank=1),
    Column("result", 26),
)


class LogView(Filtered):
    """Every action as a command line; newest last.

    Shows    the bench's `Entry` list
    Sends    nothing
    """

    TITLE = "Log"
    LABELS = {"open.row": "put B here", "mark.range": "range"}
    DEFAULT_CSS = "LogView #keep { width: 52; }"
    KEYS = ("open.row", "find.filter", "mark.range", "copy.name", "copy.as", "history.undo", "history.redo", "out.save")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.query_text = ""
        self.entries: list[Entry] = []
        self.start: int | None = None  # where a range of lines to copy begins

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
        self.query_one("#keep-text", Text).show(self._keep)
        self.refill()

    def refill(self) -> None:
        bench = self.owb.bench
        assert bench is not None
        self.start = None
        self.entries = [e for e in bench.log if self.lets_through(e.command, e.result, e.at)]
        self.query_one(Rows).show(len(self.entries), self._row, len(self.entries) - 1)
        self.query_one("#log-pane", Pane).rule.name_pane("Log", self.hits())
        self.owb.refresh_footer()

    def hits(self) -> str:
        bench = self.owb.bench
        total = len(bench.log) if bench is not None else 0
        return shown_of(len(self.entries), total, "action") if self.query_text else counted(total, "action")  # fmt: skip

    def _keep(self, width: int) -> list[Line]:
        """The steps as a recipe and as a script, as `w` would write them."""
        bench = self.owb.bench
        if bench is None or not bench.history.tip:
            return [[], [(" Nothing to keep yet:", "dim")], [(" 4 and 5 change B.", "dim")]]
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
            ("●" if self.start is not None and row in self._range() else "", "focus"),
            (entry.at, "dim"),
            (display_name(entry.command), "fg"),
            (units.duration(entry.took_ns) if entry.took_ns else "", "dim"),
            (display_name(entry.result), "strong"),
        ]
        return columns.row(_COLUMNS, cells, width)

    def _range(self) -> range:
        """The lines from where `v` began to the cursor; the one under the cursor without."""
        here = self.query_one(Rows).cursor if self.entries else -1
        start = here if self.start is None else self.start
        return range(min(start, here), max(start, here) + 1) if self.entries else range(0)

    def do_mark_range(self) -> None:
        """Begin a range of lines; again gives it up."""
        self.start = self.query_one(Rows).cursor if self.start is None else None
        self.query_one(Rows).refresh()
        self.owb.say("from this line to the cursor: y copies the lines, v gives them up" if self.start is not None else "one line again")  # fmt: skip

    def on_rows_moved(self, message: Rows.Moved) -> None:
        if self.start is not None:
            message.rows.refresh()

    def why_not(self, action_id: str) -> str:
        if action_id in ("open.row", "mark.range", "copy.name", "copy.as") and not self.entries:
            return "no line matches: esc clears the filter"
        return ""

    def _current(self) -> Entry | None:
        return self.entries[self.query_one(Rows).cursor] if self.entries else None

    def sentence(self) -> str:
        return "y copies a line, Y as Python; w keeps the steps as files"

    def copy_text(self) -> str:
        return "\n".join(self.entries[k].command for k in self._range())

    def copy_python(self) -> str:
        return "\n".join(self.entries[k].python for k in self._range())

    def copy_data(self) -> tuple[Any, str] | None:
        return ({"entries": [self.entries[k] for k in self._range()]}, "log") if self.entries else None
