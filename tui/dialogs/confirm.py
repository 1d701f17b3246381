"""A question with one answer: enter does it, esc does not."""

from __future__ import annotations

from collections.abc import Sequence

from textual.binding import Binding

from tui.dialogs.dialog import Dialog
from tui.line import Line
from workbench.render.text import display_name


class ConfirmDialog(Dialog[bool]):
    """Returns True for enter."""

    BINDINGS = [Binding("enter,a", "accept", show=False), Binding("q", "leave", show=False)]

    def __init__(self, title: str, about: Sequence[str], does: str) -> None:
        super().__init__()
        self.title_text, self.about = title, about
        self.hint = f"enter {does}   esc leaves it"

    def lines(self, width: int) -> list[Line]:
        return [[(display_name(text, width), "fg")] for text in self.about]

    def action_accept(self) -> None:
        """enter."""
        self.dismiss(True)
