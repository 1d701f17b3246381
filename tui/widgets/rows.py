"""`Rows`: the one list widget. Rows are numbers; the owner draws them. 100,000 rows cost what 40 do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip

from tui import line as lines
from tui.line import Line
from tui.widgets.lines import Lines, Text

Draw = Callable[[int, int], Line]


class Rows(Lines, can_focus=True, inherit_bindings=False):
    """A list with a cursor.

    `show(count, draw)` fills it; `draw(row, width)` is asked only for rows on screen. `letters` stand in place of the cursor
    while one jumps. What the pane beside (its id) says of an empty list stands in the list itself where that pane is hidden.
    Sends `Moved` when the cursor moves, `Opened` on enter or a second click.
    """

    cursor: var[int] = var(0)
    AWAY = "▪"
    """What keeps the place while another pane has the focus; nothing in a pane that only follows another one's cursor."""

    class Moved(Message):
        """The cursor stands on another row."""

        def __init__(self, rows: Rows, row: int) -> None:
            super().__init__()
            self.rows, self.row = rows, row

        @property
        def control(self) -> Rows:
            return self.rows

    class Opened(Moved):
        """The row was chosen."""

    def __init__(self, beside: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.beside = beside
        self._draw: Draw = lambda row, width: []
        self.letters: dict[int, str] = {}

    def show(self, count: int, draw: Draw, cursor: int | None = None) -> None:
        """Fill the list; the cursor keeps its place unless one is given."""
        self._draw = draw
        self.set_count(count)
        target = self.cursor if cursor is None else cursor
        self.cursor = max(0, min(target, count - 1))
        self.call_after_refresh(self._keep_in_view)

    def render_line(self, y: int) -> Strip:
        if self.count or not self.beside:
            return super().render_line(y)
        told = self.screen.query_one(f"#{self.beside}", Text)
        width = self.scrollable_content_region.width
        said = [] if told.region.width else told.made(width)
        return lines.strip(said[y] if y < len(said) else [], width, self.palette, ascii_only=self.ascii_only)

    def draw(self, row: int, width: int) -> Line:
        if self.letters:
            return [(self.letters.get(row, " "), "focus!"), *self._draw(row, width - 1)]
        sign = " " if row != self.cursor else "▌" if self.has_focus else self.AWAY
        return (
            [(sign, "focus"), *self._draw(row, width - 1)]
            if self.has_focus
            else [(sign, "dim"), *self._draw(row, width - 1)]
        )

    def ground(self, row: int) -> str:
        return "select" if row == self.cursor and self.has_focus else "bg"

    def watch_cursor(self, before: int, after: int) -> None:
        """Repaint the two rows and tell the owner."""
        for row in (before, after):
            self.refresh_row(row)
        self._keep_in_view()
        if self.count:
            self.post_message(self.Moved(self, after))

    def refresh_row(self, row: int) -> None:
        """Repaint one row if it is on screen."""
        y = row - self.scroll_offset.y
        if 0 <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))

    def move(self, step: int) -> None:
        """Move the cursor by `step` rows, stopping at the ends."""
        if self.count:
            self.cursor = max(0, min(self.cursor + step, self.count - 1))

    def page(self) -> int:
        """Rows on a page."""
        return max(self.size.height - 1, 1)

    def _keep_in_view(self) -> None:
        top, height = self.scroll_offset.y, self.size.height
        if height <= 0:
            return
        if self.count and not top - height < self.cursor < top + 2 * height:  # a jump: what is around it matters
            self.scroll_to(y=max(self.cursor - height // 3, 0), animate=False, force=True)
        elif self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True)

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor; on the row under the cursor it opens it."""
        row = self.scroll_offset.y + event.y
        if not 0 <= row < self.count:
            return
        if row == self.cursor and event.chain >= 2:
            self.post_message(self.Opened(self, row))
        self.cursor = row

    def on_focus(self) -> None:
        self.refresh_row(self.cursor)

    def on_blur(self) -> None:
        self.refresh_row(self.cursor)
