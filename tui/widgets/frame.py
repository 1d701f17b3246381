"""The frame every screen shares: header, tabs, rules, message row, footer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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

    def __init__(self, columns_of: Callable[[], Sequence[Column]], **kwargs: Any) -> None:
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

    def _draw(self) -> None:
        left: list[Span] = [("─ ", "line"), (self._title, "focus" if self._focused else "strong"), (" ", "line")]
        right: list[Span] = [(" ", "line"), (self._detail, "dim"), (" ─", "line")] if self._detail else [("─", "line")]
        self.show(left if self._title else [("─", "line")], right)


class Seam(Widget):
    """The line between two panes, one cell wide, joined to the rules above and below; drag it to resize the pane on its left."""

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


class Tabs(Bar):
    """The nine screens in the order of the work."""

    GROUPS = (3, 5, 8)  # a divider after look, change and prove

    SHORT = ("Ovw", "Graph", "Tens", "Pass", "Quant", "Prof", "Comp", "Chk", "Log")

    def show_tabs(self, current: str, badges: dict[str, str], width: int) -> None:
        """`badges` is a short count beside a name; under 100 columns the names are short, under 70 only the current one stands."""
        spans: list[Span] = [(" ", "fg")]
        for k, name in enumerate(SCREENS):
            label = name.capitalize() if width >= 100 else self.SHORT[k]
            if width >= 100 and badges.get(name):
                label += f" {badges[name]}"
            text = f"{k + 1} {label}" if width >= 70 or name == current else str(k + 1)
            spans += [("▐", "focus"), (text, "focus!"), ("▌", "focus")] if name == current else [(f" {text} ", "fg")]
            if k + 1 in self.GROUPS:
                spans.append(("╎", "line"))
            elif width >= 100:
                spans.append((" ", "fg"))
        self.show(spans)


class Keys(Bar):
    """The footer: at most ten actions of the focused pane, and `? all keys` last."""

    MOST = 10

    def show_keys(self, entries: list[tuple[str, str, bool]], width: int) -> None:
        """(action id, label or "" for the registry's text, enabled); a disabled one is dim and in parentheses."""
        end: list[Span] = [(" ? ", "focus"), ("all keys ", "dim")]
        spans: list[Span] = []
        for action_id, label, enabled in entries[: self.MOST]:
            action = BY_ID[action_id]
            text = label or action.text
            piece: list[Span] = (
                [(f" {action.key} ", "focus"), (f"{text} ", "dim")]
                if enabled
                else [(f" ({action.key} {text}) ", "line")]
            )
            if lines.width_of([*spans, *piece, *end]) > width:
                break
            spans += piece
        self.show(spans, end)
