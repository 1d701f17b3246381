"""One line to fill in: a path, a number."""

from __future__ import annotations

from textual.widget import Widget

from tui.dialogs.dialog import Dialog
from tui.line import Line
from tui.widgets.field import Field


class AskDialog(Dialog[str]):
    """Returns the text, stripped; None for esc or nothing."""

    hint = "enter accepts   esc closes"

    def __init__(self, title: str, about: list[Line], value: str) -> None:
        super().__init__()
        self.title_text, self.about = title, about
        self.entry = Field(value)

    def extra(self) -> list[Widget]:
        return [self.entry]

    def on_mount(self) -> None:
        super().on_mount()
        self.entry.focus()

    def lines(self, width: int) -> list[Line]:
        return [*self.about, []]

    def on_input_submitted(self, event: Field.Submitted) -> None:
        """enter: the text as it stands."""
        self.dismiss(event.value.strip() or None)
