"""`DagView`: a drawing of boxes to walk in; rows are made when they come into view."""

from __future__ import annotations

from typing import Any

from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from tui import line as lines
from tui.widgets.lines import Lines
from workbench.drawing.dag import Drawing


class DagView(Lines, can_focus=True, inherit_bindings=False):
    """Shows a `Drawing`; the cursor is a box. Sends `Moved` with the box's number."""

    DEFAULT_CSS = "DagView { overflow-x: auto; scrollbar-size-horizontal: 1; }"

    class Moved(Message):
        """The cursor stands on another box."""

        def __init__(self, box: int) -> None:
            super().__init__()
            self.box = box

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.drawing: Drawing | None = None
        self.cursor = 0
        self.tokens: list[str] = []

    def show(self, drawing: Drawing, tokens: list[str], cursor: int = 0) -> None:
        """Show a drawing; `tokens` colours the first line of each box."""
        self.drawing, self.tokens, self.cursor = drawing, tokens, cursor
        self.count = drawing.height
        self.virtual_size = Size(drawing.width + 2, drawing.height)
        self.call_after_refresh(self.reveal)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        row = self.scroll_offset.y + y
        if self.drawing is None or row >= self.count or width <= 0:
            return Strip.blank(max(width, 0), self.palette.style("fg"))
        left = self.scroll_offset.x
        spans = [(text, self._token(tag, row)) for text, tag in self.drawing.canvas.row(row, left, left + width)]
        return lines.strip(spans, width, self.palette, ascii_only=self.ascii_only)

    def _token(self, tag: int, row: int) -> str:
        if tag < 0 or self.drawing is None:
            return "line"
        if tag == self.cursor:
            return "focus!"
        place = self.drawing.places[tag]
        if not place.top < row < place.top + place.height:
            return "dim"
        return self.tokens[tag] if row == place.top + 1 else "dim"

    def reveal(self) -> None:
        """Scroll so that the cursor's box is in view, near the middle when it was not."""
        if self.drawing is None or not self.drawing.places:
            return
        place, view = self.drawing.places[self.cursor], self.scrollable_content_region
        x, y = self.scroll_offset
        if not (y <= place.top and place.top + place.height <= y + view.height):
            y = max(place.top - view.height // 3, 0)
        if not (x <= place.left and place.left + place.width <= x + view.width):
            x = max(place.left + place.width // 2 - view.width // 2, 0)
        self.scroll_to(x=x, y=y, animate=False, force=True)

    def put(self, box: int) -> None:
        """Move the cursor to a box."""
        if self.drawing is not None and self.drawing.places:
            self.cursor = max(0, min(box, len(self.drawing.places) - 1))
            self.reveal()
            self.refresh()
            self.post_message(self.Moved(self.cursor))

    def step(self, layers: int, sideways: int) -> None:
        """Move by layers, to the box that is nearest across, or to the neighbour in the layer."""
        drawing = self.drawing
        if drawing is None or not drawing.places:
            return
        here = drawing.places[self.cursor]
        number = here.layer
        if sideways:
            layer = drawing.order[number]
            self.put(layer[max(0, min(layer.index(self.cursor) + sideways, len(layer) - 1))])
            return
        number += 1 if layers > 0 else -1
        while 0 <= number < len(drawing.order) and not drawing.order[number]:
            number += 1 if layers > 0 else -1
        remaining = abs(layers) - 1
        while remaining > 0 and 0 <= number + (1 if layers > 0 else -1) < len(drawing.order):
            number += 1 if layers > 0 else -1
            remaining -= 1
        if 0 <= number < len(drawing.order) and drawing.order[number]:
            middle = here.left + here.width / 2
            self.put(
                min(
                    drawing.order[number],
                    key=lambda b: abs(drawing.places[b].left + drawing.places[b].width / 2 - middle),
                )
            )
