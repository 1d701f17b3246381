"""`View`: what every screen is: panes between rules, actions it knows, reasons for those it cannot do now."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from textual.containers import Container, Vertical
from textual.widget import Widget

from tui.widgets.frame import Rule
from tui.widgets.lines import Lines
from tui.widgets.rows import Rows

if TYPE_CHECKING:
    from tui.app import WorkbenchApp
    from workbench.nodes import NodeId


class Pane(Vertical):
    """A titled pane: a rule above, one body below."""

    DEFAULT_CSS = "Pane { height: 1fr; width: 1fr; }"

    def __init__(self, title: str, *body: Widget, id: str | None = None) -> None:
        self.rule = Rule(title)
        super().__init__(self.rule, *body, id=id)
        self.body = body[-1]


class View(Container):
    """One of the nine screens.

    An action `history.undo` is the method `do_history_undo`; `why_not(id)` says why it cannot be done now, or "".
    """

    DEFAULT_CSS = "View { layout: horizontal; height: 1fr; }"
    KEYS: tuple[str, ...] = ()
    LABELS: Mapping[str, str] = {}
    FACES: tuple[str, ...] = ()
    KEPT: tuple[str, ...] = ()
    """What of its own state is there again when the same file is opened another time."""
    TITLE = ""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.face = 0
        self.stale = True

    @property
    def owb(self) -> WorkbenchApp:
        """The app, with its own type."""
        return cast("WorkbenchApp", self.app)

    def arrived(self) -> None:
        """The screen comes to the front: fill it if what it shows has changed."""
        if self.stale:
            self.stale = False
            self.fill()
        self.focus_first()

    def fill(self) -> None:
        """Show the state the header names; override."""

    def learnt(self) -> None:
        """Something was found out in the background (names, shapes, checks, counts): show what concerns this screen."""

    def on_filter(self, query: str) -> None:
        """The query as typed so far; raises `OptionError` where it cannot be read. A screen without lists ignores it."""

    def find_named(self, name: str) -> None:
        """Put the cursor on the node of a name; only Graph has nodes by name."""

    def find_rule(self, rule: str, place: int) -> None:
        """Put the cursor on a rule; only Passes has them."""

    def focus_first(self, *, force: bool = False) -> None:
        """Give the keys to the main pane, unless one of the panes has them."""
        target = self.main_pane()
        if target is not None and (force or not self.has_focus_within):
            target.focus()

    def main_pane(self) -> Widget | None:
        """The pane that has the focus at first."""
        rows = list(self.query(Rows))
        return rows[0] if rows else None

    def focus_order(self) -> list[Widget]:
        """Panes in the order of `tab`."""
        return [w for w in self.query(Lines) if w.can_focus and w.display]

    def handler(self, action_id: str) -> Callable[[], Any] | None:
        """The method behind an action, if this screen has it."""
        return getattr(self, "do_" + action_id.replace(".", "_").replace("-", "_"), None)

    def why_not(self, action_id: str) -> str:
        """Why an action cannot be done now; "" when it can."""
        return ""

    def footer(self) -> list[tuple[str, str, bool]]:
        """(action, label, enabled) for the footer; the focused pane's own first."""
        labels = {"copy.name": "copy", "copy.as": "copy as", **self.LABELS}
        return [(a, labels.get(a, ""), not (self.why_not(a) or self.owb.why_not(a))) for a in self.KEYS]

    def bookmarks(self) -> list[tuple[str, NodeId]]:
        """Places to jump to by a capital letter: label and node."""
        return self.owb.view("graph").bookmarks() if self.id != "graph" else []

    def sentence(self) -> str:
        """What the message row says while nothing else is said: how much is shown, of what."""
        return ""

    def say(self, text: str, token: str = "fg") -> None:
        """A sentence in this screen's message row, whichever screen is shown by now."""
        self.owb.say(text, token, screen=self.id or "")

    def remembered(self) -> dict[str, object]:
        """The state to remember beside the file."""
        return {name: getattr(self, name) for name in self.KEPT}

    def take(self, kept: Mapping[str, object]) -> None:
        """The state as it was left; what is not of the right kind is left alone."""
        for name in self.KEPT:
            if type(kept.get(name)) is type(getattr(self, name)):
                setattr(self, name, kept[name])
        if self.FACES:
            self.face %= len(self.FACES)
        self.stale = True

    def copy_text(self) -> str:
        """What `y` copies: the name under the cursor."""
        return ""

    def copy_command(self) -> str:
        """The command line that shows or does the same; `Y` offers it."""
        return ""

    def copy_python(self) -> str:
        """The same as a line of Python, after `import workbench as wb`."""
        return ""

    def copy_data(self) -> tuple[Any, str] | None:
        """(what is known of it, its kind) for JSON."""
        return None

    def shown_file(self) -> str:
        """The file of the state shown, as a shell takes it; steps are in no file before `w`, so B gets the name it would have."""
        bench = self.owb.bench
        original = bench is None or bench.number(bench.shown) == 0
        return shlex.quote(str(self.owb.path) if original else "B.onnx")

    def shown_model(self) -> str:
        """The state shown as Python loads it."""
        return f"wb.load({shlex.split(self.shown_file())[0]!r})"

    def on_descendant_focus(self) -> None:
        """The focused pane's title takes the accent, the footer its keys."""
        for pane in self.query(Pane):
            pane.rule.focused(pane.has_focus_within)
        self.owb.refresh_footer()

    def on_descendant_blur(self) -> None:
        for pane in self.query(Pane):
            pane.rule.focused(pane.has_focus_within)

    def do_face_next(self) -> None:
        """The next form of a screen that has several."""

    def do_pane_full(self) -> None:
        """Give the whole screen to the focused pane, or to the side pane that a narrow terminal hides; again gives it back."""
        panes = [child for child in self.children if isinstance(child, Pane)]
        if self.has_class("full"):
            self.remove_class("full")
            for child in self.children:
                child.remove_class("away", "whole")
            self.focus_first(force=True)
            return
        hidden = [p for p in panes if not p.display]
        focused = next((p for p in panes if p.has_focus_within), panes[0])
        target = hidden[-1] if hidden else focused
        self.add_class("full")
        for child in self.children:
            child.set_class(child is not target, "away")
            child.set_class(child is target, "whole")
        body = target.query(Lines).first()
        if body.can_focus:
            body.focus()

    # What every list does; a screen overrides where it means more.

    def list_in_focus(self) -> Rows | None:
        """The focused list, if the focus is in one of ours."""
        focused = self.app.focused
        return focused if isinstance(focused, Rows) and self in focused.ancestors else None

    def do_move_down(self) -> None:
        self._move(1)

    def do_move_up(self) -> None:
        self._move(-1)

    def do_move_first(self) -> None:
        self._move(-(1 << 60))

    def do_move_last(self) -> None:
        self._move(1 << 60)

    def do_move_page_down(self) -> None:
        self._page(1)

    def do_move_page_up(self) -> None:
        self._page(-1)

    def do_open_row(self) -> None:
        rows = self.list_in_focus()
        if rows is not None and rows.count:
            rows.post_message(Rows.Opened(rows, rows.cursor))

    def _move(self, step: int) -> None:
        rows = self.list_in_focus()
        if rows is not None:
            rows.move(step)
        elif isinstance(self.app.focused, Lines):
            self.app.focused.scroll_relative(y=step, animate=False)

    def _page(self, direction: int) -> None:
        rows = self.list_in_focus()
        if rows is not None:
            rows.move(direction * rows.page())
        elif isinstance(self.app.focused, Lines):
            self.app.focused.scroll_relative(y=direction * self.app.focused.size.height, animate=False)
