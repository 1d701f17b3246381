"""`MiniMap`: a whole drawing in one narrow column: what lies where, what is in view, where the marked nodes are."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.strip import Strip
from textual.widget import Widget

from tui import line as lines
from tui.theme import DARK, HEAT_GLYPHS
from tui.widgets.dag import DagView


class MiniMap(Widget):
    """Three cells wide beside a `DagView`: brackets around what is in view, in the middle the hottest box of each band. A click goes there.

    heats   heat of each box, None where nothing is measured
    marked  boxes to be found again: those with marked nodes
    """

    DEFAULT_CSS = "MiniMap { width: 3; height: 1fr; background: $background; }"

    def __init__(self, dag: DagView, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dag = dag
        self.heats: list[int | None] = []
        self.marked: frozenset[int] = frozenset()
        self._bands: tuple[int, list[tuple[str, str]]] = (0, [])

    def show(self, heats: list[int | None], marked: frozenset[int]) -> None:
        """Another drawing, another measure or other marks."""
        self.heats, self.marked, self._bands = heats, marked, (0, [])
        self.refresh()

    def on_mount(self) -> None:
        self.watch(self.dag, "scroll_y", self._scrolled, init=False)

    def _scrolled(self) -> None:
        self.refresh()

    def _drawn(self, height: int) -> list[tuple[str, str]]:
        """(glyph, token) of each band, made once for a height."""
        if self._bands[0] == height:
            return self._bands[1]
        drawing = self.dag.drawing
        bands: list[tuple[str, str]] = [(" ", "line")] * height
        hottest = [-2] * height
        for box, place in enumerate(drawing.places if drawing is not None else ()):
            band = min(place.top * height // max(self.dag.count, 1), height - 1)
            known = self.heats[box] if box < len(self.heats) else None
            heat = len(HEAT_GLYPHS) if box in self.marked else -1 if known is None else known
            if heat > hottest[band]:
                hottest[band] = heat
                bands[band] = ("●", "focus") if box in self.marked else ("·", "dim") if known is None else (HEAT_GLYPHS[known], f"heat.{known}")  # fmt: skip
        self._bands = (height, bands)
        return bands

    def render_line(self, y: int) -> Strip:
        palette, height = getattr(self.app, "palette", DARK), self.size.height
        glyph, token = self._drawn(height)[y] if 0 <= y < height else (" ", "line")
        total = max(self.dag.count, 1)
        top = self.dag.scroll_offset.y * height // total
        bottom = min(self.dag.scroll_offset.y + self.dag.size.height, total) * height // total
        inside = top <= y <= max(bottom - 1, top)
        spans = [("▐" if inside else " ", "dim"), (glyph, token), ("▌" if inside else " ", "dim")]
        return lines.strip(spans, self.size.width, palette, ascii_only=bool(getattr(self.app, "ascii_only", False)))

    def on_click(self, event: events.Click) -> None:
        """Show that part of the drawing."""
        y = event.y * self.dag.count // max(self.size.height, 1) - self.dag.size.height // 2
        self.dag.scroll_to(y=max(y, 0), animate=False, force=True)
