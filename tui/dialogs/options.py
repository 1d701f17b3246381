"""`OptionsDialog`: a column of options, each with a few values to turn through, and a file below where one is needed."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from textual.binding import Binding
from textual.widget import Widget

from tui.dialogs.dialog import Dialog
from tui.line import Line, fit
from tui.widgets.field import Field
from tui.widgets.lines import Text
from tui.widgets.rows import Rows
from workbench.render.text import display_name

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Option:
    """One line.

    field   what the caller knows it by
    values  in the order one turns through
    show    the text of a value
    """

    field: str
    label: str
    values: tuple[Any, ...]
    show: Callable[[Any], str] = str


class OptionsDialog(Dialog[Result], Generic[Result]):
    """Subclasses give `OPTIONS` and `result(values, path)`; a `file_label` adds a line for a path."""

    DEFAULT_CSS = "OptionsDialog Rows { height: auto; max-height: 16; } OptionsDialog Field { margin-top: 1; }"
    BINDINGS = [
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("right,l,plus,space", "turn(1)", show=False),
        Binding("left,h,minus", "turn(-1)", show=False),
        Binding("enter,r", "accept", show=False),
        Binding("y", "copy", show=False),
        Binding("q", "leave", show=False),
    ]
    file_label = ""
    does = "accepts"

    def __init__(self, options: Sequence[Option], values: dict[str, Any], about: Sequence[str] = (), path: str = "") -> None:  # fmt: skip
        super().__init__()
        self.options, self.values, self.about = options, dict(values), about
        self.hint = f"← → change   {'tab a file   ' if self.file_label else ''}enter {self.does}   esc closes"
        self.rows = Rows()
        self.entry = Field(path, placeholder=self.file_label)
        self.wrong = ""
        if self.words(self.values, path):
            self.hint = f"y copies as CLI   {self.hint}"

    def result(self, values: dict[str, Any], path: str) -> Result:
        """What the dialog returns; override."""
        raise NotImplementedError

    def words(self, values: dict[str, Any], path: str) -> list[str]:
        """What is chosen as a command line, of the state that is shown; nothing where the command line has no such run."""
        return []

    def action_copy(self) -> None:
        words = self.words(self.values, self.entry.value.strip())
        if not words:
            return
        self.command = shlex.join(words)
        super().action_copy()
        self.wrong = f"copied: {self.command}"
        self.update_lines()

    def extra(self) -> list[Widget]:
        return [self.rows, *([self.entry] if self.file_label else [])]

    def on_mount(self) -> None:
        super().on_mount()
        self.rows.styles.height = min(len(self.options), 16)
        self.rows.show(len(self.options), self._row)
        self.rows.focus()

    def lines(self, width: int) -> list[Line]:
        said: list[Line] = [
            [(part, "dim")] for text in self.about for part in textwrap.wrap(display_name(text, 400), max(width, 20))
        ]
        return [*said, [(display_name(self.wrong, width), "warn")] if self.wrong else []]

    def _row(self, row: int, width: int) -> Line:
        option = self.options[row]
        value = option.show(self.values[option.field])
        return [(fit(display_name(option.label), 28), "dim"), ("◂ ", "line"), (display_name(value), "strong"), (" ▸", "line")]  # fmt: skip

    def action_move(self, step: int) -> None:
        """Another line."""
        self.rows.move(step)

    def action_turn(self, step: int) -> None:
        """Another value on this line."""
        option = self.options[self.rows.cursor]
        at = option.values.index(self.values[option.field])
        self.values[option.field] = option.values[(at + step) % len(option.values)]
        self.rows.refresh()

    def on_input_submitted(self) -> None:
        self.action_accept()

    def action_accept(self) -> None:
        """Accept, unless the file that was named is not there."""
        path = self.entry.value.strip()
        if path and not Path(path).expanduser().exists():
            self.wrong = f"there is no {path}"
            self.query_one(Text).show(self.lines)
            return
        self.dismiss(self.result(self.values, str(Path(path).expanduser()) if path else ""))
