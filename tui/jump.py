"""`'`: a letter on every row in view; typing it moves the cursor there. Bookmarks have capital letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.screen import ModalScreen

from tui.widgets.rows import Rows

if TYPE_CHECKING:
    from tui.app import WorkbenchApp

LETTERS = "asdfghjklqwertyuiopzxcvbnm"
CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class JumpScreen(ModalScreen[str]):
    """Transparent; returns the letter."""

    def on_key(self, event: events.Key) -> None:
        """Any key ends it."""
        event.stop()
        self.dismiss(event.character if event.character and event.character.isalpha() else None)


def start(app: WorkbenchApp) -> None:
    """Put letters on the rows of the focused list first, then of the others."""
    view = app.view()
    lists = sorted((r for r in view.query(Rows) if r.display and r.count), key=lambda r: not r.has_focus)
    targets: dict[str, tuple[Rows, int]] = {}
    letters = iter(LETTERS)
    for rows in lists:
        rows.letters = {}
        for row in range(rows.scroll_offset.y, min(rows.scroll_offset.y + rows.size.height, rows.count)):
            letter = next(letters, None)
            if letter is None:
                break
            rows.letters[row] = letter
            targets[letter] = (rows, row)
        rows.refresh()
    places = view.bookmarks()
    if places:
        app.say("   ".join(f"{CAPITALS[k]} {label}" for k, (label, _) in enumerate(places[:26])))

    def given(letter: str | None) -> None:
        for rows in lists:
            rows.letters = {}
            rows.refresh()
        if letter in targets:
            rows, row = targets[letter]
            rows.focus()
            rows.cursor = row
        elif letter and letter in CAPITALS[: len(places)]:
            app.go("graph", places[CAPITALS.index(letter)][1])

    app.push_screen(JumpScreen(), given)
