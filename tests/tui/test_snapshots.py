"""What screens look like, as text. OWB_UPDATE=1 writes the pictures anew."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).with_name("screens")
SHOTS = {
    "graph": ("2", "j"),
    "graph-drawing": ("2", "t", "j"),
    "graph-filter-empty": ("2", "slash", "z", "z", "z", "enter"),
    "tensors": ("3",),
    "quantize-empty": ("5",),
    "profile-empty": ("6",),
    "compare-empty": ("7",),
    "slice": ("3", "enter"),
    "leave": ("4", "A", "enter", "q"),
}


def same(ui: Any, name: str, keys: tuple[str, ...], size: tuple[int, int]) -> None:
    """Compare the screen with the kept one, the header's sizes and the message apart."""

    async def script(pilot: Any, app: Any) -> None:
        lines = [line.rstrip() for line in (await ui.press(pilot, app, *keys)).splitlines()]
        if len(app.screen_stack) == 1:
            lines[-2] = lines[-2] if "Opened in" not in lines[-2] else ""
            lines[0] = ""
        path = FOLDER / f"{name}-{size[0]}x{size[1]}.txt"
        text = "\n".join(lines) + "\n"
        if os.environ.get("OWB_UPDATE"):
            FOLDER.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    ui.drive(script, size=size)


@pytest.mark.parametrize("name", SHOTS)
def test_a_screen_is_as_it_was(ui: Any, name: str) -> None:
    same(ui, name, SHOTS[name], (100, 30))


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 15), (160, 50)], ids=lambda s: str(s[0]))
@pytest.mark.parametrize("name", SHOTS)
def test_a_screen_is_as_it_was_at_other_widths(ui: Any, name: str, size: tuple[int, int]) -> None:
    same(ui, name, SHOTS[name], size)
