"""`:`: find an action by words."""

from __future__ import annotations

from typing import Any

from textual.binding import Binding
from textual.widget import Widget

from tui.actions import ACTIONS, Action
from tui.dialogs.dialog import Dialog
from tui.line import Line, fit
from tui.views.view import View
from tui.widgets.field import Field
from tui.widgets.rows import Rows
from workbench.render.text import display_name


class PaletteDialog(Dialog[str]):
    """Returns the id of the chosen action, or a command line as it was typed."""

    DEFAULT_CSS = "PaletteDialog Rows { height: 16; } PaletteDialog Text { display: none; }"
    BINDINGS = [
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]
    title_text = "Commands"
    hint = "enter runs   esc closes"

    def __init__(self, view: View) -> None:
        super().__init__()
        self.view = view
        self.entry, self.rows = (
            Field(placeholder="words of a command, or a line: optimize A --passes fuse-conv-bn -o out.onnx"),
            Rows(),
        )
        self.found: list[Action | str] = []
        self.lost = False  # nothing matches: a row says so, above what is nearest

    def extra(self) -> list[Widget]:
        return [self.entry, self.rows]

    def on_mount(self) -> None:
        self.entry.focus()
        self._search("")

    def on_input_changed(self, event: Field.Changed) -> None:
        """Filter as one types."""
        self._search(event.value)

    def _search(self, text: str) -> None:
        from tui.shell import NAMES

        words = text.lower().split()
        self.found = [
            a
            for a in ACTIONS
            if all(w in f"{a.text} {a.id} {a.group}".lower() for w in words) and not a.id.startswith("move.")
        ]
        if len(words) == 1 and len(words[0]) > 1:
            self.found += [name for name in NAMES if name.startswith(words[0])]
        self.lost = not self.found and not self._is_line()
        if self.lost:
            self.found = nearest_to(text)
        self.rows.show(len(self.found) + self.lost, self._row, min(len(self.found), int(self.lost)))

    def _is_line(self) -> bool:
        """Whether what is typed is a command line; a command's bare name is looked for first."""
        from tui.shell import is_command

        typed = self.entry.value.strip()
        return is_command(typed) and " " in typed

    def _row(self, row: int, width: int) -> Line:
        if self.lost and not row:
            end = "; nearest:" if self.found else "; ? lists all keys, an owb command line runs as it is"
            return [(f"nothing matches {display_name(self.entry.value.strip(), 40)!r}{end}", "warn")]
        action = self.found[row - self.lost]
        if isinstance(action, str):
            return [
                (fit(f"{action} …", 42), "fg"),
                (fit("line", 12), "dim"),
                (f"owb {action} --help tells more", "dim"),
            ]
        reason = self.view.why_not(action.id) or self.view.owb.why_not(action.id)
        return [
            (fit(action.text, 42), "fg" if not reason else "dim"),
            (fit(action.key, 12), "focus" if not reason else "line"),
            (reason, "dim"),
        ]

    def on_input_submitted(self) -> None:
        """enter: run the action under the cursor."""
        self._choose()

    def on_rows_opened(self) -> None:
        self._choose()

    def _choose(self) -> None:
        typed, row = self.entry.value.strip(), self.rows.cursor - self.lost
        if self._is_line():
            self.dismiss(typed)
        elif 0 <= row < len(self.found):
            chosen = self.found[row]
            if isinstance(chosen, str):  # a command wants to know of what
                self.entry.value = f"{chosen} {typed.partition(' ')[2]}"
                self.entry.cursor_position = len(self.entry.value)
            else:
                self.dismiss(chosen.id)

    def action_move(self, step: int) -> None:
        """Move in the list while typing."""
        self.rows.move(step)

    def lines(self, width: int) -> list[Line]:
        return []

    def update_lines(self, *_: Any) -> None:
        """There is no text above the list."""


def nearest_to(text: str, most: int = 5) -> list[Action | str]:
    """Commands and actions one of whose words looks like a typed one."""
    from difflib import get_close_matches

    from tui.shell import NAMES

    typed = text.lower().removeprefix("owb ").split()
    known: dict[str, list[Action | str]] = {}
    for name in NAMES:
        known.setdefault(name, []).append(name)
    for action in ACTIONS:
        for word in {*action.text.lower().replace(":", " ").replace(",", " ").split(), *action.id.split(".")}:
            if len(word) > 2 and not action.id.startswith("move."):
                known.setdefault(word, []).append(action)
    found = [meant for word in typed[:3] for close in get_close_matches(word, known, 3, 0.6) for meant in known[close]]
    return list(dict.fromkeys(found))[:most]
