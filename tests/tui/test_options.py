"""Options of a run: what is chosen in a dialog is what is done, logged, and replayed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def model(ui: Any, tmp_path: Path) -> Path:
    """A copy that may have files written beside it."""
    return Path(shutil.copy(ui.CNN, tmp_path / "digits.onnx"))


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """Three images, so that a profile shows that it was these that ran."""
    path = tmp_path / "three.npz"
    np.savez(path, image=np.zeros((3, 1, 8, 8), np.float32))
    return path


@pytest.mark.parametrize(("screen", "word"), [("6", "profile"), ("7", "compare")])
def test_inputs_come_from_the_file_that_was_named(ui: Any, model: Path, inputs: Path, screen: str, word: str) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "4", "A", "enter", screen, "R", "tab")
        await pilot.press(*(c if c.isalnum() else {"/": "slash", ".": "full_stop", "_": "underscore", "-": "minus"}[c] for c in str(inputs)))  # fmt: skip
        assert "three.npz" in ui.text(app)
        await ui.press(pilot, app, "enter")
        assert len(app.screen_stack) == 1, ui.text(app)
        assert any(f"owb {word}" in e.command and f"--inputs {inputs}" in e.command for e in app.bench.log)
        if screen == "6":
            assert app.bench.last_profile("B").nodes[0].shapes[0].startswith("float32[3,")

    ui.drive(script, model)


def test_a_file_that_is_not_there_is_said_and_the_dialog_stays(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "6", "R", "tab", *"none", "enter")
        assert "there is no none" in ui.text(app)
        assert len(app.screen_stack) == 2
        await ui.press(pilot, app, "escape")
        assert not app.bench.results.profile(app.bench.key("A"))

    ui.drive(script)


def test_a_newer_opset_is_a_step_that_replays(ui: Any, model: Path) -> None:
    async def script(pilot: Any, app: Any) -> None:
        before = app.bench.info("A").opset
        await ui.press(pilot, app, "4", "R", "j", "l", "enter")
        assert app.bench.info("B").opset == before + 1
        assert f"--opset {before + 1}" in app.bench.log[-1].command
        await ui.press(pilot, app, "w", "enter")

    ui.drive(script, model)
    import workbench as wb
    from workbench.recipe import read_recipe, replay

    again = model.with_name("again.onnx")
    replay(read_recipe(model.with_name("digits_step1.toml")), wb.load(model), folder=model.parent).model.save(again)
    assert again.read_bytes() == model.with_name("digits_step1.onnx").read_bytes()


@pytest.mark.slow  # ten seconds and more of real work behind the screen
def test_samples_are_named_in_the_scheme(ui: Any, model: Path) -> None:
    from workbench.samples import sample

    with np.load(sample("digits.npz")) as digits:
        np.savez(model.with_name("digits.npz"), image=digits["calibration_images"][:32])
    name = str(model.with_name("digits.npz"))

    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "5", "r", "tab")
        await pilot.press(*(c if c.isalnum() else {"/": "slash", ".": "full_stop", "_": "underscore", "-": "minus"}[c] for c in name))  # fmt: skip
        await ui.press(pilot, app, "enter")
        assert app.bench.data == name
        assert "digits.npz" in app.view("quantize").found.data

    ui.drive(script, model)


def test_values_turn_both_ways_and_the_runs_are_those_chosen(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "6", "R", "j", "l", "l", "h", "enter")
        assert app.bench.last_profile("A").runs == 25

    ui.drive(script)


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("6", "R", "l"), "owb profile A --engine onnxruntime --runs 12 --threads 1"),
        (("4", "A", "enter", "7", "R", "l"), "owb compare A B --max-error 1e-06"),
        (("5", "R", "l"), "owb sensitivity B --preset fast"),
    ],
)
def test_y_copies_what_is_chosen_as_a_command_line(ui: Any, keys: tuple[str, ...], line: str) -> None:
    async def script(pilot: Any, app: Any) -> None:
        text = await ui.press(pilot, app, *keys, "y")
        assert app.clipboard == line
        assert f"copied: {line}"[:40] in text
        assert len(app.screen_stack) == 2

    ui.drive(script)
