"""`q` with unsaved steps: save, save only the recipe, leave or stay."""

from __future__ import annotations

from textual.binding import Binding

from tui.dialogs.dialog import Dialog
from tui.line import Line
from workbench.bench import Bench


class LeaveDialog(Dialog[str]):
    """Returns "save", "recipe", "leave" or None (stay)."""

    BINDINGS = [
        Binding("w,enter", "answer('save')", show=False),
        Binding("r", "answer('recipe')", show=False),
        Binding("q", "answer('leave')", show=False),
    ]
    title_text = "Leave owb?"
    hint = "esc stays"

    def __init__(self, bench: Bench) -> None:
        super().__init__()
        self.bench = bench

    def lines(self, width: int) -> list[Line]:
        steps = self.bench.unsaved
        return [
            [
                (
                    f"B has {steps} {'step' if steps == 1 else 'steps'} that {'is' if steps == 1 else 'are'} not saved.",
                    "strong",
                )
            ],
            [],
            [("▌w    ", "focus"), ("save B first", "fg")],
            [(" r    ", "focus"), ("save only its recipe and leave: it makes B again from the file", "fg")],
            [(" q    ", "focus"), (f"leave, and lose {'it' if steps == 1 else 'them'}", "fg")],
            [(" esc  ", "focus"), ("stay", "fg")],
        ]

    def action_answer(self, answer: str) -> None:
        """One of the keys."""
        self.dismiss(answer)
