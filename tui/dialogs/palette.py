"""`:`: find an action by words."""

from __future__ import annotations

from typing import Any

from textual.binding import Binding
from textual.widget import Widget

from tui.actions import ACTIONS, Action
from tui.dialogs.dialog import Dialog
from tui.line import Line, fit
from tui.views.view import View
from tui.widgets.field import Field
from tui.widgets.rows import Rows


class PaletteDialog(Dialog[str]):
    """Returns the id of the chosen action, or a command line as it was typed."""

    DEFAULT_CSS = "PaletteDialog Rows { height: 16; } PaletteDialog Text { display: none; }"
    BINDINGS = [
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]
    title_text = "Commands"
    hint = "enter runs   esc closes"

    def __init__(self, view: View) -> None:
        super().__init__()
        self.view = view
        self.entry, self.rows = (
            Field(placeholder="words of a command, or a line: optimize A --passes fuse-conv-bn -o out.onnx"),
            Rows(),
        )
        self.found: list[Action] = []

    def extra(self) -> list[Widget]:
        return [self.entry, self.rows]

    def on_mount(self) -> None:
        self.entry.focus()
        self._search("")

    def on_input_changed(self, event: Field.Changed) -> None:
        """Filter as one types."""
        self._search(event.value)

    def _search(self, text: str) -> None:
        words = text.lower().split()
        self.found = [
            a
            for a in ACTIONS
            if all(w in f"{a.text} {a.id} {a.group}".lower() for w in words) and not a.id.startswith("move.")
        ]
        self.rows.show(len(self.found), self._row, 0)

    def _row(self, row: int, width: int) -> Line:
        action = self.found[row]
        reason = self.view.why_not(action.id) or self.view.owb.why_not(action.id)
        return [
            (fit(action.text, 30), "fg" if not reason else "dim"),
            (fit(action.key, 12), "focus" if not reason else "line"),
            (reason, "dim"),
        ]

    def on_input_submitted(self) -> None:
        """enter: run the action under the cursor."""
        self._choose()

    def on_rows_opened(self) -> None:
        self._choose()

    def _choose(self) -> None:
        from tui.shell import is_command

        typed = self.entry.value.strip()
        if is_command(typed):
            self.dismiss(typed)
        else:
            self.dismiss(self.found[self.rows.cursor].id if self.found else None)

    def action_move(self, step: int) -> None:
        """Move in the list while typing."""
        self.rows.move(step)

    def lines(self, width: int) -> list[Line]:
        return []

    def update_lines(self, *_: Any) -> None:
        """There is no text above the list."""
