"""An error on the screen: what, where, what was there, what to do. It stays until seen and can be copied."""

from __future__ import annotations

import textwrap

from textual.binding import Binding

from exec.errors import BenchError
from tui.dialogs.dialog import Dialog
from tui.line import Line
from workbench.render.text import display_name


class FailureDialog(Dialog[None]):
    """Shows one `BenchError`."""

    BINDINGS = [
        Binding("enter", "leave", show=False),
        Binding("q", "leave", show=False),
        Binding("y", "copy", show=False),
    ]
    hint = "y copies   enter or esc closes"

    def __init__(self, error: BenchError) -> None:
        super().__init__()
        self.error = error
        self.title_text = f"✗ {error.kind}"

    def lines(self, width: int) -> list[Line]:
        out: list[Line] = [[(text, "strong")] for text in _wrap(self.error.what, width)]
        for label, text in self.error.parts():
            if text:
                first, *rest = _wrap(text, width - 7)
                out.append([(f"{label:6s} ", "dim"), (first, "fg")])
                out += [[(" " * 7, "dim"), (more, "fg")] for more in rest]
        return out

    def action_copy(self) -> None:
        """Copy the whole error as text."""
        self.app.copy_to_clipboard(str(self.error))
        self.notify("copied the error", timeout=5, markup=False)


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(display_name(" ".join(text.split())), max(width, 10)) or [""]
