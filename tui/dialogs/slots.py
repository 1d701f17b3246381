"""`B`: which state stands in which slot."""

from __future__ import annotations

from textual.binding import Binding
from textual.widget import Widget

from tui.dialogs.dialog import Dialog
from tui.line import Line, fit
from tui.widgets.rows import Rows
from workbench.bench import Bench
from workbench.render import units
from workbench.render.text import display_name


class SlotDialog(Dialog[tuple[str, int]]):
    """Returns (what, step): what is "A", "B", "swap" or "file"."""

    DEFAULT_CSS = "SlotDialog Rows { height: auto; max-height: 20; }"
    BINDINGS = [
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("a", "pick('A')", show=False),
        Binding("b,enter", "pick('B')", show=False),
        Binding("x", "pick('swap')", show=False),
        Binding("o,O", "pick('file')", show=False),
        Binding("q", "leave", show=False),
    ]
    title_text = "Choose A and B"
    hint = "a puts it in A   b or enter in B   x swaps   o a second file in B   esc closes"

    def __init__(self, bench: Bench) -> None:
        super().__init__()
        self.bench = bench
        self.steps = list(reversed(bench.history.steps))
        self.rows = Rows()

    def extra(self) -> list[Widget]:
        return [self.rows]

    def on_mount(self) -> None:
        super().on_mount()
        self.rows.styles.height = min(len(self.steps), 20)
        self.rows.show(len(self.steps), self._row, len(self.steps) - 1 - self.bench.history.tip)
        self.rows.focus()

    def lines(self, width: int) -> list[Line]:
        later = len(self.bench.history.steps) - 1 - self.bench.history.tip
        text = "Changes act on B. " + (f"{later} later {'step' if later == 1 else 'steps'} can be redone until you change something." if later else "B on an earlier step makes the later ones redo.")  # fmt: skip
        return [[(text, "dim")], []]

    def _row(self, row: int, width: int) -> Line:
        info, bench = self.steps[row].info, self.bench
        return [
            ("A" if info.number == bench.a else " ", "slot.a"), ("B " if info.number == bench.b else "  ", "slot.b"),
            (fit(f"{info.number}", 3, right=True), "dim"), ("  " + fit(display_name(info.title), 30), "fg"),
            (fit(f"{info.nodes:,}", 8, right=True), "fg"), (" nodes", "dim"), (fit(units.size(info.file_bytes), 11, right=True), "fg"),
        ]  # fmt: skip

    def action_move(self, step: int) -> None:
        """Another step."""
        self.rows.move(step)

    def action_pick(self, what: str) -> None:
        """One of the keys."""
        self.dismiss((what, self.steps[self.rows.cursor].info.number))
