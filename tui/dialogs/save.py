"""`w`: write B, its recipe, a script and a report. Never over the opened file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from textual.binding import Binding
from textual.widget import Widget

from exec.wording import counted
from tui.dialogs.dialog import Dialog
from tui.line import Line
from tui.widgets.field import Field
from tui.widgets.rows import Rows
from workbench.bench import OTHER, Bench
from workbench.render import units
from workbench.render.text import display_name

_KINDS = (("model", ".onnx"), ("recipe", ".toml"), ("script", ".sh"), ("report", ".html"))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to write, all beside each other under one name."""

    stem: Path
    kinds: tuple[str, ...]

    def path(self, kind: str) -> Path:
        """Where a kind goes."""
        return self.stem.with_name(self.stem.name + dict(_KINDS)[kind])


class SaveDialog(Dialog[Wanted]):
    """Returns what to write; `kinds` are picked at first."""

    DEFAULT_CSS = "SaveDialog Rows { height: 4; } SaveDialog Field { margin-bottom: 1; }"
    BINDINGS = [
        Binding("space", "pick", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("enter,w", "write", show=False),
        Binding("q", "leave", show=False),
    ]
    title_text = "Save"
    hint = "space picks   tab edits the name   enter writes   esc closes"

    def __init__(self, bench: Bench, kinds: Sequence[str]) -> None:
        super().__init__()
        self.bench = bench
        self.picked = set(kinds)
        step = "b" if bench.b == OTHER else f"step{bench.b}"
        self.entry = Field(str(bench.path.with_name(f"{bench.path.stem}_{step}")))
        self.rows = Rows()

    def extra(self) -> list[Widget]:
        return [self.entry, self.rows]

    def on_mount(self) -> None:
        super().on_mount()
        self.rows.show(len(_KINDS), self._row)
        self.rows.focus()

    def lines(self, width: int) -> list[Line]:
        info = self.bench.info("B")
        what = f"B, step {info.number}, {info.title}: {counted(info.nodes, 'node')}, {units.size(info.file_bytes)}"
        return [[(display_name(what), "fg")], [("the opened file is never written over", "dim")], []]

    def _row(self, row: int, width: int) -> Line:
        kind, suffix = _KINDS[row]
        on = kind in self.picked
        name = Path(self.entry.value).name + suffix
        return [("✓ " if on else "  ", "ok"), (f"{kind:8s}", "fg" if on else "dim"), (display_name(name), "fg" if on else "dim")]  # fmt: skip

    def action_pick(self) -> None:
        """Write this kind, or not."""
        self.picked ^= {_KINDS[self.rows.cursor][0]}
        self.rows.refresh()

    def action_move(self, step: int) -> None:
        """Another kind."""
        self.rows.move(step)

    def on_input_changed(self) -> None:
        """The names below follow."""
        self.rows.refresh()

    def on_input_submitted(self) -> None:
        self.action_write()

    def action_write(self) -> None:
        """Everything that is picked."""
        text = self.entry.value.strip()
        if text and self.picked:
            kinds = tuple(k for k, _ in _KINDS if k in self.picked)
            self.dismiss(Wanted(Path(text.removesuffix(".onnx")).expanduser(), kinds))
