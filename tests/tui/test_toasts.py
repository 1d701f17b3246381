"""What came out well is said in a corner: once, apart from the cursor, and it goes by itself."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from textual.widgets._toast import Toast

from tui.dialogs.palette import nearest_to
from workbench.recipe import read_recipe


@pytest.fixture(autouse=True)
def lasting(monkeypatch: pytest.MonkeyPatch) -> None:
    """They stand until they are looked at, however slow the machine is."""
    monkeypatch.setattr("tui.toasts.SUCCESS_S", 1000.0)


def toasts(app: Any) -> list[str]:
    """What stands in the corner."""
    return [n.message for n in app._notifications]


@pytest.fixture
def model(ui: Any, tmp_path: Path) -> Path:
    """A copy that may have files written beside it."""
    return Path(shutil.copy(ui.CNN, tmp_path / "digits.onnx"))


def test_profile_optimize_compare_and_save_each_say_that_they_are_done(ui: Any, model: Path) -> None:
    async def script(pilot: Any, app: Any) -> None:
        for keys, said in (
            (("6", "r"), "✓ profiled A: "),
            (("4", "A", "enter"), "✓ all ready rules: 3 places, −3 nodes, verified   z undoes"),
            (("7", "r"), "✓ compared"),
            (("w", "enter"), "✓ saved digits_step1.onnx, digits_step1.toml"),
        ):
            app.toasts.clear()
            text = await ui.press(pilot, app, *keys)
            assert [t for t in toasts(app) if t.startswith(said)], toasts(app)
            assert said.split()[1] in text

    ui.drive(script, model)


@pytest.mark.slow  # ten seconds and more of real work behind the screen
def test_ranking_and_quantizing_say_that_they_are_done(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "5", "r", "enter")
        assert any("nodes ranked: all in 8 bits gives" in t for t in toasts(app))
        await ui.press(pilot, app, "a", "enter")
        assert any(t.startswith("✓ quantized: ") and "at the worst output   z undoes" in t for t in toasts(app))

    ui.drive(script)


def test_the_same_toast_twice_is_one_with_a_count(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        app.toasts.done("written")
        app.toasts.done("written")
        await pilot.pause()
        assert toasts(app) == ["✓ written  ×2"]

    ui.drive(script)


@pytest.mark.parametrize("key", ["g", "G"])
def test_a_toast_stands_apart_from_the_cursor(ui: Any, key: str) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "2", key)
        app.toasts.done("written")
        await pilot.pause(0.1)
        focused, toast = app.focused, app.screen.query(Toast).first().region
        row = focused.region.y + focused.cursor - focused.scroll_offset.y
        assert not toast.y <= row < toast.bottom

    ui.drive(script, size=(100, 20))


@pytest.mark.slow  # ten seconds and more of real work behind the screen
def test_a_recipe_runs_from_the_command_line_of_the_screen(ui: Any, model: Path) -> None:
    recipe = model.with_name("digits_step2.toml")

    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "4", "A", "enter", "5", "r", "enter", "a", "enter", "w", "enter")
        wanted = [s.info.nodes for s in app.bench.history.steps]
        await ui.press(pilot, app, "z", "z", "colon")
        app.screen.entry.value = f"recipe {recipe}"
        await ui.press(pilot, app, "enter")
        assert [s.info.nodes for s in app.bench.history.steps] == wanted
        assert any(t.startswith("✓ digits_step2.toml: 2 steps done") for t in toasts(app))
        assert app.bench.recipe() == recipe.read_text()

    ui.drive(script, model)
    assert len(read_recipe(recipe).step) == 2


def test_a_recipe_that_is_none_is_an_error_and_changes_nothing(ui: Any, model: Path) -> None:
    model.with_suffix(".toml").write_text("step = 3")

    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "colon")
        app.screen.entry.value = f"recipe {model.with_suffix('.toml')}"
        assert "this is no recipe" in await ui.press(pilot, app, "enter")
        assert not app.bench.history.tip

    ui.drive(script, model)


def test_words_that_match_nothing_say_so_and_name_the_nearest(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "colon")
        await pilot.press(*"optimse")
        await pilot.pause()
        text = ui.text(app)
        assert "nothing matches 'optimse'; nearest:" in text
        assert "optimize …" in text
        await ui.press(pilot, app, "enter")
        assert app.screen.entry.value == "optimize "

    ui.drive(script)


def test_nothing_near_is_said_as_well(ui: Any) -> None:
    assert nearest_to("xqzvw") == []

    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "colon")
        await pilot.press(*"xqzvw")
        await pilot.pause()
        assert "nothing matches 'xqzvw'" in ui.text(app)
        await ui.press(pilot, app, "enter")
        assert len(app.screen_stack) == 2

    ui.drive(script)


def test_a_sentence_belongs_to_the_state_it_was_said_of(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        assert "step 1, all ready rules: −3 nodes, verified: " in await ui.press(pilot, app, "4", "A", "enter")
        assert "undone: step 1" in await ui.press(pilot, app, "z")
        await ui.press(pilot, app, "1")
        assert "undone" not in await ui.press(pilot, app, "Z", "4")

    ui.drive(script)
