"""`Dialog`: a framed column of lines over a dimmed screen."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget

from tui import glyphs
from tui.line import Line
from tui.widgets.lines import Text

Result = TypeVar("Result")


class Dialog(ModalScreen[Result], Generic[Result]):
    """Subclasses give `title`, `lines(width)` and keys; `hint` stands in the lower border, `command` is what `y` copies."""

    DEFAULT_CSS = """
    Dialog { align: center middle; }
    Dialog > Vertical { width: 76; max-width: 95%; height: auto; max-height: 90%; border: round $primary; background: $background; padding: 0 1; }
    Dialog > Vertical > Text { height: auto; max-height: 30; min-height: 1; }
    """
    BINDINGS = [Binding("escape", "leave", show=False), Binding("ctrl+c", "leave", show=False)]
    title_text = ""
    hint = "esc closes"
    command = ""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.text = Text()

    def compose(self) -> ComposeResult:
        with Vertical() as frame:
            ascii_only = bool(getattr(self.app, "ascii_only", False))
            if ascii_only:
                frame.styles.border = ("ascii", frame.styles.base.border_top[1])
            frame.border_title = Content(glyphs.plain(self.title_text) if ascii_only else self.title_text)
            yield self.text
            yield from self.extra()

    def extra(self) -> list[Widget]:
        """Widgets below the lines, an input or a list."""
        return []

    def on_mount(self) -> None:
        self.update_lines()
        for screen in self.app.screen_stack[:-1]:
            screen.query("Toast").remove()  # they stand on top of this dialog, not below it as well

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """A narrow window wraps lines, and of the hint keeps what is said last: how one leaves."""
        frame = self.query_one(Vertical)
        if self.text.size.width:
            self.text.styles.height = min(len(self.lines(self.text.size.width)), 30)
        parts = self.hint.split("   ")
        while len(parts) > 1 and cell_len("   ".join(parts)) > frame.size.width - 2:
            parts.pop(0)
        said = "   ".join(parts)
        frame.border_subtitle = Content(glyphs.plain(said) if getattr(self.app, "ascii_only", False) else said)

    def update_lines(self) -> None:
        """Lay the lines out again."""
        count = len(self.lines(70))
        self.text.styles.height = min(count, 30)
        self.text.show(self.lines)

    def lines(self, width: int) -> list[Line]:
        """The text of the dialog; override."""
        return []

    def action_copy(self) -> None:
        """y: what is asked here, as a command line."""
        self.app.copy_to_clipboard(self.command)

    def action_leave(self) -> None:
        """esc: nothing is chosen."""
        self.dismiss(None)
