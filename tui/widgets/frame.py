"""The frame every screen shares: header, tabs, rules, message row, footer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.cells import cell_len
from textual.strip import Strip
from textual.widget import Widget

from tui import columns
from tui import line as lines
from tui.actions import BY_ID, SCREENS
from tui.columns import Column
from tui.line import Line, Span
from tui.theme import DARK, Palette


class Bar(Widget):
    """One line across the screen; `show(line)` replaces it."""

    DEFAULT_CSS = "Bar { height: 1; background: $background; }"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.left: Line = ()
        self.right: Line = ()
        self.filler, self.filler_token = " ", "line"

    @property
    def palette(self) -> Palette:
        return getattr(self.app, "palette", DARK)

    def show(self, left: Line, right: Line = ()) -> None:
        """Text at the left edge and at the right one."""
        if (left, right) != (self.left, self.right):
            self.left, self.right = left, right
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        spans = lines.spread(self.left, self.right, width, self.filler, self.filler_token)
        return lines.strip(spans, width, self.palette, ascii_only=bool(getattr(self.app, "ascii_only", False)))


class Heads(Bar):
    """The titles of a list's columns, laid out as its rows are."""

    def __init__(self, columns_of: Callable[[], tuple[Column, ...]], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.columns_of = columns_of

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        spans: list[Span] = [(" ", "dim"), *columns.heading(self.columns_of(), max(width - 2, 1))]
        return lines.strip(spans, width, self.palette, ascii_only=bool(getattr(self.app, "ascii_only", False)))


class Rule(Bar):
    """The top of a pane: `─ Title ───── 12 of 40 · size ↓ ─`."""

    def __init__(self, title: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.filler = "─"
        self._title, self._detail, self._focused = title, "", False
        self._draw()

    def name_pane(self, title: str, detail: str = "") -> None:
        """Set what the pane is and how many it shows in which order."""
        self._title, self._detail = title, detail
        self._draw()

    def focused(self, yes: bool) -> None:
        """The focused pane's title is the one accent on the screen."""
        self._focused = yes
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        """The title stays; of the detail stands what there is room for."""
        title: Span = (self._title, "focus" if self._focused else "strong")
        left: list[Span] = [("─ ", "line"), title, (" ", "line")] if self._title else [("─", "line")]
        room = self.size.width - lines.width_of(left) - 4
        detail = self._detail if cell_len(self._detail) <= room else lines.fit(self._detail, room) if room >= 8 else ""
        self.show(left, [(" ", "line"), (detail, "dim"), (" ─", "line")] if detail else [("─", "line")])


class Seam(Widget):
    """The line between two panes, one cell wide, joined to the rules above and below; drag it to resize the pane on its left."""

    ALLOW_SELECT = False  # it is dragged
    DEFAULT_CSS = "Seam { width: 1; height: 100%; background: $background; }"

    def __init__(self, left: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.left = left
        self._dragging = False

    def render_line(self, y: int) -> Strip:
        glyph = "┬" if y == 0 else "│"
        palette = getattr(self.app, "palette", DARK)
        return lines.strip(
            [(glyph, "line")], self.size.width, palette, ascii_only=bool(getattr(self.app, "ascii_only", False))
        )

    def on_mouse_down(self) -> None:
        self._dragging = True
        self.capture_mouse()

    def on_mouse_up(self) -> None:
        self._dragging = False
        self.release_mouse()

    def on_mouse_move(self, event: Any) -> None:
        if self._dragging and self.parent is not None:
            pane = self.parent.query_one(f"#{self.left}")
            pane.styles.width = max(event.screen_x - pane.region.x, 10)


class Floor(Bar):
    """The bottom rule: the faces of the screen, and the feet of the seams above."""

    def show_faces(self, faces: Sequence[str], current: int) -> None:
        """Name the faces, the current one strong; a screen with one face has nothing to name."""
        spans: list[Span] = [("─", "line")]
        for k, face in enumerate(faces):
            spans += [(" ⇄ " if k else " ", "line"), (face, "strong" if k == current else "dim")]
        self.show([*spans, ("  t ", "focus")] if faces else spans)
        self.refresh()  # the seams may stand elsewhere

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        cells = "".join(text for text, _ in lines.spread(self.left, (), width, "─"))
        feet = {s.region.x for s in self.app.query(Seam) if s.region.bottom == self.region.y and s.region.width}
        taken = lines.width_of(self.left)
        ruled = "".join("┴" if x in feet else c for x, c in enumerate(cells))
        spans = [*lines.clip(self.left, width), (ruled[taken:], "line")]
        return lines.strip(spans, width, self.palette, ascii_only=bool(getattr(self.app, "ascii_only", False)))


class Tabs(Bar):
    """The nine screens in the order of the work."""

    GROUPS = (3, 5, 8)  # a divider after look, change and prove

    SHORT = ("Ovw", "Graph", "Tens", "Pass", "Quant", "Prof", "Comp", "Chk", "Log")

    def show_tabs(self, current: str, badges: dict[str, str], width: int) -> None:
        """`badges` is a short count beside a name. What has no room loses its gaps, then takes short names, then keeps only the current one."""
        long = [f"{name.capitalize()} {badges.get(name, '')}".rstrip() for name in SCREENS]
        bare = [self.SHORT[k] if name == current else "" for k, name in enumerate(SCREENS)]
        rows = [
            self._row(current, names, gap) for names, gap in ((long, " "), (long, ""), (self.SHORT, ""), (bare, ""))
        ]
        self.show(next((row for row in rows if lines.width_of(row) <= width), rows[-1]))

    def _row(self, current: str, names: Sequence[str], gap: str) -> list[Span]:
        spans: list[Span] = [(" ", "fg")]
        for k, name in enumerate(SCREENS):
            text = f"{k + 1} {names[k]}".rstrip()
            spans += [("▐", "focus"), (text, "focus!"), ("▌", "focus")] if name == current else [(f" {text} ", "fg")]
            spans.append(("╎", "line") if k + 1 in self.GROUPS else (gap, "fg"))
        return spans


class Keys(Bar):
    """The footer: at most ten actions of the focused pane, and `? all keys` last."""

    MOST = 10

    def show_keys(self, entries: list[tuple[str, str, bool]], width: int) -> None:
        """(action id, label or "" for the registry's text, enabled); a disabled one is dim and in parentheses."""
        end: list[Span] = [(" ? ", "focus"), ("all keys ", "dim")]
        pieces = [(self._piece(*entry), entry[2]) for entry in entries[: self.MOST]]
        while pieces and lines.width_of([span for piece, _ in pieces for span in piece] + end) > width:
            gone = next((k for k in reversed(range(len(pieces))) if not pieces[k][1]), len(pieces) - 1)
            del pieces[gone]  # what cannot be used gives way before what can
        self.show([span for piece, _ in pieces for span in piece], end)

    @staticmethod
    def _piece(action_id: str, label: str, enabled: bool) -> list[Span]:
        action = BY_ID[action_id]
        text = label or action.text
        if enabled:
            return [(f" {action.key} ", "focus"), (f"{text} ", "dim")]
        return [(f" ({action.key} {text}) ", "line")]
