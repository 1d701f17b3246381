"""A list to choose one line from: by letter, or with the arrows and enter."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.binding import Binding
from textual.widget import Widget

from tui.dialogs.dialog import Dialog
from tui.line import Line
from tui.widgets.rows import Rows
from workbench.render.text import display_name

LETTERS = "abcdefghimnoprstuvwxyz"


class ChooseDialog(Dialog[int]):
    """Returns the position of the chosen line."""

    DEFAULT_CSS = "ChooseDialog Rows { height: auto; max-height: 24; } ChooseDialog Text { display: none; }"
    BINDINGS = [
        Binding("down,j", "move(1)", show=False, priority=True),
        Binding("up,k", "move(-1)", show=False, priority=True),
        Binding("enter", "choose", show=False, priority=True),
        Binding("q", "leave", show=False),
    ]
    hint = "a letter or enter chooses   esc closes"

    def __init__(self, title: str, lines: Sequence[str], cursor: int = 0, letters: str = LETTERS) -> None:
        super().__init__()
        self.title_text = title
        self.options, self.start, self.letters = list(lines), cursor, letters
        self.rows = Rows()

    def extra(self) -> list[Widget]:
        return [self.rows]

    def on_mount(self) -> None:
        self.rows.styles.height = min(max(len(self.options), 1), 24)
        self.rows.show(len(self.options), self._row, self.start)
        self.rows.focus()

    def _row(self, row: int, width: int) -> Line:
        letter = self.letters[row] if row < len(self.letters) else " "
        return [(f"{letter}  ", "focus"), (display_name(self.options[row], width), "fg")]

    def action_move(self, step: int) -> None:
        """One line up or down."""
        self.rows.move(step)

    def action_choose(self) -> None:
        """The line under the cursor."""
        self.dismiss(self.rows.cursor if self.options else None)

    def on_rows_opened(self, message: Rows.Opened) -> None:
        self.dismiss(message.row)

    def on_key(self, event: events.Key) -> None:
        """A line's letter."""
        at = self.letters.find(event.character or "-")
        if 0 <= at < len(self.options):
            event.stop()
            self.dismiss(at)

    def update_lines(self) -> None:
        """There is no text above the list."""
