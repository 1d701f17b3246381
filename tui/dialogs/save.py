"""`w`: where to write B. Never over the opened file."""

from __future__ import annotations

from pathlib import Path

from textual.widget import Widget
from textual.widgets import Input

from tui.dialogs.dialog import Dialog
from tui.line import Line
from workbench.bench import Bench
from workbench.render import units


class SaveDialog(Dialog[Path]):
    """Returns the path to write."""

    DEFAULT_CSS = "SaveDialog Input { border: none; height: 1; padding: 0; background: $panel; }"
    title_text = "Save B"
    hint = "enter writes   esc closes"

    def __init__(self, bench: Bench) -> None:
        super().__init__()
        self.bench = bench
        self.entry = Input(str(bench.path.with_name(f"{bench.path.stem}_step{bench.b}.onnx")))

    def extra(self) -> list[Widget]:
        return [self.entry]

    def on_mount(self) -> None:
        super().on_mount()
        self.entry.focus()

    def lines(self, width: int) -> list[Line]:
        info = self.bench.info("B")
        return [
            [
                ("model  ", "dim"),
                (f"step {info.number}, {info.title}: {info.nodes:,} nodes, {units.size(info.file_bytes)}", "fg"),
            ],
            [("kept   ", "dim"), ("the opened file is never written over", "fg")],
            [],
        ]

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """enter: the path as it stands."""
        if event.value.strip():
            self.dismiss(Path(event.value.strip()).expanduser())
