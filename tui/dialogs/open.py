"""`O`: a path, the files opened last, and the models of this folder."""

from __future__ import annotations

import time
from pathlib import Path

from textual.binding import Binding
from textual.widget import Widget

from tui.dialogs.dialog import Dialog
from tui.line import Line, fit
from tui.widgets.field import Field
from tui.widgets.rows import Rows
from workbench.render import units
from workbench.render.text import display_name
from workbench.sessions import read_sessions

_MOST = 200


class OpenDialog(Dialog[tuple[str, Path]]):
    """Returns ("A" or "B", path)."""

    DEFAULT_CSS = """
    OpenDialog > Vertical { width: 96; }
    OpenDialog Rows { height: 14; } OpenDialog Text { display: none; }
    """
    BINDINGS = [
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("tab", "complete", show=False, priority=True),
        Binding("ctrl+b", "second", show=False, priority=True),
    ]
    title_text = "Open a model"
    hint = "tab completes   enter opens as A   ctrl+b as second file in B   esc closes"

    def __init__(self, here: Path, *, second: bool = False) -> None:
        super().__init__()
        self.here, self.as_second = here.resolve(), second
        self.entry, self.rows = Field(placeholder="a path"), Rows()
        self.found: list[tuple[Path, str]] = []
        if second:
            self.title_text = "A second file for B"

    def extra(self) -> list[Widget]:
        return [self.entry, self.rows]

    def on_mount(self) -> None:
        self._list("")
        self.entry.focus()

    def on_input_changed(self, event: Field.Changed) -> None:
        self._list(event.value)

    def _list(self, typed: str) -> None:
        """Recent files that match, then what the typed folder holds."""
        words = typed.lower()
        recent = [(Path(r.path), f"{units.size(r.file_bytes)}  {_ago(r.opened)}  {r.result}") for r in read_sessions().recent]  # fmt: skip
        found = [(p, note) for p, note in recent if words in str(p).lower() and p.exists()][:8]
        base = Path(typed).expanduser() if typed else self.here
        folder = base if base.is_dir() else (base.parent if base.parent != Path() else self.here)
        folder = folder if folder.is_absolute() else self.here / folder
        start = "" if base.is_dir() or not typed else base.name.lower()
        try:
            inside = sorted(folder.iterdir(), key=lambda p: (not p.is_dir(), p.name.lower()))[:_MOST]
        except OSError:
            inside = []
        for path in inside:
            if path.name.startswith(".") or not path.name.lower().startswith(start):
                continue
            if path.is_dir():
                found.append((path, "folder"))
            elif path.suffix in (".onnx", ".ort", ".pb"):
                found.append((path, units.size(path.stat().st_size)))
        unique: dict[Path, str] = {}
        for path, note in found:
            unique.setdefault(path, note)
        self.found = list(unique.items())
        self.rows.show(len(self.found), self._row, 0)

    def _row(self, row: int, width: int) -> Line:
        path, note = self.found[row]
        try:
            name = str(path.relative_to(self.here))
        except ValueError:
            name = str(path)
        return [(fit(display_name(name + ("/" if note == "folder" else "")), max(width - 34, 10), keep="end"), "fg"), ("  " + display_name(note), "dim")]  # fmt: skip

    def action_move(self, step: int) -> None:
        """Another line while typing."""
        self.rows.move(step)

    def action_complete(self) -> None:
        """The line under the cursor into the path."""
        if self.found:
            path, note = self.found[self.rows.cursor]
            self.entry.value = str(path) + ("/" if note == "folder" else "")
            self.entry.cursor_position = len(self.entry.value)

    def action_second(self) -> None:
        """Into slot B."""
        self._choose("B")

    def on_input_submitted(self) -> None:
        self._choose("B" if self.as_second else "A")

    def on_rows_opened(self, message: Rows.Opened) -> None:
        self._choose("B" if self.as_second else "A")

    def _choose(self, slot: str) -> None:
        typed = Path(self.entry.value.strip()).expanduser()
        if self.entry.value.strip() and typed.is_file():
            self.dismiss((slot, typed))
        elif self.found:
            path, note = self.found[self.rows.cursor]
            if note == "folder":
                self.action_complete()
            else:
                self.dismiss((slot, path))

    def update_lines(self) -> None:
        """There is no text above the list."""


def _ago(when: float) -> str:
    days = (time.time() - when) / 86400
    return "today" if days < 1 else f"{days:.0f} d ago"
