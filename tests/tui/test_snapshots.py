"""What screens look like, as text, full, empty, busy and after an error. OWB_UPDATE=1 writes the pictures anew."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).with_name("screens")
MODEL = Path("samples/digits_cnn.onnx")
"""From the project's folder: the pictures are the same wherever that lies."""

APPLY = ("4", "A", "enter")
RANK = ("5", "r", "enter")
SHOTS = {
    "overview": ("1",),
    "overview-ab": (*APPLY, "b", "1"),
    "graph": ("2", "j"),
    "graph-drawing": ("2", "t", "j"),
    "graph-rails": ("2", "t", "t", "j"),
    "graph-ab": (*APPLY, "b", "2"),
    "graph-filter-empty": ("2", "slash", "z", "z", "z", "enter"),
    "tensors": ("3",),
    "tensors-ab": (*APPLY, "b", "3"),
    "tensors-filter-empty": ("3", "slash", "z", "z", "z", "enter"),
    "slice": ("3", "enter"),
    "passes": ("4",),
    "passes-apply": ("4", "A"),
    "passes-options": ("4", "R"),
    "passes-empty": APPLY,
    "quantize": RANK,
    "quantize-options": ("5", "r"),
    "quantize-empty": ("5",),
    "profile": ("6", "r"),
    "profile-ab": (*APPLY, "b", "6", "r"),
    "profile-options": ("6", "R"),
    "profile-empty": ("6",),
    "profile-stale": ("6", "r", *APPLY, "6"),
    "compare": (*APPLY, "7", "r"),
    "compare-empty": ("7",),
    "checks": ("8",),
    "log": (*APPLY, "9"),
    "log-empty": ("9",),
    "save": (*APPLY, "w"),
    "leave": (*APPLY, "q"),
}
BUSY = {"profile": ("6", "r"), "compare": (*APPLY, "7", "r"), "sensitivity": RANK}


def masked(text: str) -> str:
    """Times, and counts that another rule or check would change, apart: everything else is the screen's own doing."""
    text = re.sub(r"\d\d:\d\d:\d\d", "hh:mm:ss", text)
    text = re.sub(r"\d+ rules ·", "n rules ·", text)
    text = re.sub(r"in \d of \d pla", "in n of n pla", text)  # as many as time allowed
    text = re.sub(r"max err \de−\d", "max err 1e−6", text)  # as the machine's arithmetic has it
    text = re.sub(r"on \d runs?", "on n runs", text)
    text = re.sub(r"\d+(?=( ✓ ─| found nothing))", "n", text)
    text = re.sub(r"(?<= )[\d.]+ s  ctrl", "t s  ctrl", text)
    return re.sub(
        r"(?<![\w.])[\d.,]+ (ms|µs|s)(?=[ .│]|$)", lambda found: "t".rjust(len(found[0])), text, flags=re.MULTILINE
    )


def same(lines: list[str], name: str, size: tuple[int, int], header: bool) -> None:
    """Compare with the kept picture; the header's sizes and a message that tells a time stay out."""
    lines = [line.rstrip() for line in lines]
    if header:
        lines[-2] = re.sub(r"verified: .*", "verified: …", lines[-2] if "Opened in" not in lines[-2] else "")
        lines[0] = ""
    path = FOLDER / f"{name}-{size[0]}x{size[1]}.txt"
    text = masked("\n".join(lines)) + "\n"
    if os.environ.get("OWB_UPDATE"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])


def full(ui: Any, steady: Any, name: str, size: tuple[int, int]) -> None:
    """A screen after its keys."""

    async def script(pilot: Any, app: Any) -> None:
        app.bench.runner = steady(app)
        await ui.press(pilot, app, *SHOTS[name])
        if "profile" in app.bench.log[-1].command:
            await ui.settled(pilot, app)
        app.toasts.clear()  # they come and go by the clock
        await pilot.pause()
        same(ui.text(app).splitlines(), name, size, len(app.screen_stack) == 1)

    ui.drive(script, MODEL, size=size)


def busy(ui: Any, steady: Any, job: str, size: tuple[int, int]) -> None:
    """While a job runs, and after it was stopped."""

    async def script(pilot: Any, app: Any) -> None:
        app.bench.runner = steady(app, held=job)
        await ui.press(pilot, app, *BUSY[job][:-1])
        await pilot.press(BUSY[job][-1])
        for _ in range(200):
            await pilot.pause(0.02)
            if "6 of 12" in ui.text(app):
                break
        app.toasts.clear()
        await pilot.pause()
        same(ui.text(app).splitlines(), f"{job}-busy", size, True)
        await ui.press(pilot, app, "ctrl+c")
        assert "stopped" in ui.text(app)
        assert app.query_one("#header").right[-1][0].strip() in ("saved", "● unsaved")

    ui.drive(script, MODEL, size=size)


def failed(ui: Any, steady: Any, job: str, size: tuple[int, int]) -> None:
    """After an error: what, where, why, what to do; the old screen behind it."""

    async def script(pilot: Any, app: Any) -> None:
        app.bench.runner = steady(app, fails=job)
        await ui.press(pilot, app, *BUSY[job])
        app.toasts.clear()
        await pilot.pause()
        same(ui.text(app).splitlines(), f"{job}-error", size, False)
        await ui.press(pilot, app, "escape")
        assert len(app.screen_stack) == 1

    ui.drive(script, MODEL, size=size)


@pytest.mark.parametrize("name", SHOTS)
def test_a_screen_is_as_it_was(ui: Any, steady: Any, name: str) -> None:
    full(ui, steady, name, (100, 30))


@pytest.mark.parametrize("job", BUSY)
def test_work_says_how_far_it_is_and_how_to_stop_it(ui: Any, steady: Any, job: str) -> None:
    busy(ui, steady, job, (100, 30))


@pytest.mark.parametrize("job", BUSY)
def test_an_error_stands_over_the_old_screen(ui: Any, steady: Any, job: str) -> None:
    failed(ui, steady, job, (100, 30))


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 15), (160, 50)], ids=lambda s: str(s[0]))
@pytest.mark.parametrize("name", SHOTS)
def test_a_screen_is_as_it_was_at_other_widths(ui: Any, steady: Any, name: str, size: tuple[int, int]) -> None:
    full(ui, steady, name, size)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 15), (160, 50)], ids=lambda s: str(s[0]))
@pytest.mark.parametrize("job", BUSY)
def test_work_and_errors_at_other_widths(ui: Any, steady: Any, job: str, size: tuple[int, int]) -> None:
    busy(ui, steady, job, size)
    failed(ui, steady, job, size)
