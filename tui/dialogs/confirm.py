"""A question with one answer: enter does it, esc does not."""

from __future__ import annotations

from collections.abc import Sequence

from textual.binding import Binding

from tui.dialogs.dialog import Dialog
from tui.line import Line
from workbench.render.text import display_name


class ConfirmDialog(Dialog[bool]):
    """Returns True for enter."""

    BINDINGS = [Binding("enter,a", "accept", show=False), Binding("q", "leave", show=False), Binding("y", "copy", show=False)]  # fmt: skip

    def __init__(self, title: str, about: Sequence[str], does: str, command: str) -> None:
        super().__init__()
        self.title_text, self.about, self.command = title, about, command
        self.hint = f"y copies as CLI   enter {does}   esc leaves it"

    def lines(self, width: int) -> list[Line]:
        return [[(display_name(text, width), "fg")] for text in self.about]

    def action_accept(self) -> None:
        """enter."""
        self.dismiss(True)
