"""`Lines`: a scrolling pane whose lines are drawn when they come into view."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.style import Style
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBarRender
from textual.selection import Selection
from textual.strip import Strip

from tui import line as lines
from tui.line import Line
from tui.theme import DARK, Palette

_CHOSEN = Style(reverse=True)


class PlainBar(ScrollBarRender):
    """A scroll bar of whole cells."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


class Lines(ScrollView):
    """Shows `count` lines, each made by `draw(row, width)`; nothing is kept but what is on screen.

    A subclass that has a cursor is `Rows`.
    """

    DEFAULT_CSS = """
    Lines { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; scrollbar-gutter: stable; background: $background; height: 1fr; }
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.count = 0
        self._painting = False

    def on_mount(self) -> None:
        """A terminal without block glyphs gets a plain bar."""
        if self.ascii_only:
            self.vertical_scrollbar.renderer = PlainBar  # type: ignore[misc]
            self.horizontal_scrollbar.renderer = PlainBar  # type: ignore[misc]

    @property
    def palette(self) -> Palette:
        """The app's colours."""
        return getattr(self.app, "palette", DARK)

    @property
    def ascii_only(self) -> bool:
        return bool(getattr(self.app, "ascii_only", False))

    def set_count(self, count: int) -> None:
        """Say how many lines there are now and draw again."""
        self.count = count
        self.virtual_size = Size(0, count)
        self.refresh()

    def draw(self, row: int, width: int) -> Line:
        """The spans of one line; override."""
        raise NotImplementedError

    def on_resize(self) -> None:
        """Width has changed: every line is laid out again."""
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Textual paints: no place in the text goes with what is painted, which would cost a quarter of the time of a key."""
        self._painting = True
        try:
            return super().render_lines(crop)
        finally:
            self._painting = False

    def render_line(self, y: int) -> Strip:
        """Textual asks for one line on screen: to paint it, or for the place in the text below the mouse."""
        width = self.scrollable_content_region.width
        row = self.scroll_offset.y + y
        if not 0 <= row < self.count or width <= 0:
            return Strip.blank(max(width, 0), self.palette.style("fg"))
        strip = lines.strip(
            self.draw(row, width), width, self.palette, ground=self.ground(row), ascii_only=self.ascii_only
        )
        strip = self._marked(strip, row, width)
        return strip if self._painting else strip.apply_offsets(0, row)

    def _marked(self, strip: Strip, row: int, width: int) -> Strip:
        """What the mouse has selected is reversed: that shows without colours, too."""
        chosen = self.text_selection
        span = chosen.get_span(row) if chosen is not None else None
        if span is None:
            return strip
        start, end = span[0], width if span[1] < 0 else min(span[1], width)
        return Strip.join([strip.crop(0, start), strip.crop(start, end).apply_style(_CHOSEN), strip.crop(end, width)])

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, as it stands on the screen."""
        width = self.scrollable_content_region.width
        first = selection.start.y if selection.start is not None else 0
        last = selection.end.y if selection.end is not None else self.count - 1
        out = []
        for row in range(max(first, 0), min(last, self.count - 1) + 1):
            span = selection.get_span(row)
            if span is not None:
                strip = lines.strip(self.draw(row, width), width, self.palette, ascii_only=self.ascii_only)
                out.append(strip.crop(span[0], width if span[1] < 0 else span[1]).text.rstrip())
        return ("\n".join(out), "\n") if out else None

    def selection_updated(self, selection: Selection | None) -> None:
        """Another part is selected."""
        self.refresh()

    def ground(self, row: int) -> str:
        """The background token of a line."""
        return "bg"


class Text(Lines, can_focus=False):
    """Lines that are known: a function of the width gives them all at once, again whenever the width changes."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._make: Any = lambda width: []
        self._made: tuple[int, list[Line]] = (-1, [])

    def show(self, make: Any) -> None:
        """`make(width)` gives the lines."""
        self._make, self._made = make, (-1, [])
        self._layout()

    def made(self, width: int) -> list[Line]:
        """The lines at a width."""
        return list(self._make(width))

    def _layout(self) -> None:
        width = self.scrollable_content_region.width
        if width > 0 and width != self._made[0]:
            self._made = (width, self.made(width))
            self.set_count(len(self._made[1]))
        else:
            self.refresh()

    def on_resize(self) -> None:
        self._layout()

    def draw(self, row: int, width: int) -> Line:
        return self._made[1][row] if row < len(self._made[1]) else []
