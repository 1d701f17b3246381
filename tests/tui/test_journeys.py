"""The three journeys of the design need no more keys than it says, and end where it says."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from exec.errors import Cancelled
from workbench.recipe import read_recipe, replay


@pytest.fixture
def model(ui: Any, tmp_path: Path) -> Path:
    """A copy that may have files written beside it."""
    return Path(shutil.copy(ui.CNN, tmp_path / "digits.onnx"))


def test_the_slowest_node_and_why_is_four_keys(ui: Any) -> None:
    keys = ("6", "r", "enter", "d")

    async def script(pilot: Any, app: Any) -> None:
        text = await ui.press(pilot, app, *keys[:3])
        profile = app.bench.last_profile("A")
        slowest = max(profile.nodes, key=lambda n: n.median_ns)
        assert app.current == "graph"
        assert app.view("graph").copy_text() == slowest.name
        for fact in ("median", "rate", "roof", "critical", "kernel", "rank 1 of"):
            assert fact in text
        page = await ui.press(pilot, app, keys[3])
        assert "could be" in page
        assert "specification" in page

    ui.drive(script)


def test_optimize_and_prove_it_is_seven_keys_and_the_recipe_replays(ui: Any, model: Path) -> None:
    keys = ("4", "A", "enter", "7", "r", "w", "enter")

    async def script(pilot: Any, app: Any) -> None:
        asked = await ui.press(pilot, app, *keys[:2])
        assert "3 places" in asked
        assert "enter applies" in asked
        assert "verified" in await ui.press(pilot, app, keys[2])
        assert "no divergence beyond rounding" in await ui.press(pilot, app, *keys[3:5])
        assert "saved" in await ui.press(pilot, app, *keys[5:])
        assert app.bench.unsaved == 0

    ui.drive(script, model)
    saved, recipe = model.with_name("digits_step1.onnx"), model.with_name("digits_step1.toml")
    import workbench as wb

    again = model.with_name("again.onnx")
    replay(read_recipe(recipe), wb.load(model), folder=model.parent).model.save(again)
    assert again.read_bytes() == saved.read_bytes()


def test_int8_to_a_target_is_eight_keys(ui: Any, model: Path) -> None:
    keys = ("5", "r", "enter", "equals_sign", "a", "enter", "w", "enter")

    async def script(pilot: Any, app: Any) -> None:
        ranked = await ui.press(pilot, app, *keys[:3])
        assert "worst first" in ranked
        assert "measured ✓" in ranked
        assert "kept float for 20 dB" in await ui.press(pilot, app, keys[3])
        assert "nodes in 8 bits" in await ui.press(pilot, app, keys[4])
        await ui.press(pilot, app, keys[5])
        assert app.bench.b == 1
        assert app.bench.info("B").file_bytes < app.bench.info("A").file_bytes / 2
        await ui.press(pilot, app, *keys[6:])

    ui.drive(script, model)
    assert model.with_name("digits_step1.onnx").exists()


def test_moving_the_plan_answers_at_once_with_an_estimate(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "5", "r", "enter")
        view = app.view("quantize")
        before = set(view.kept)
        gate = threading.Event()

        def slow(*_: Any) -> Any:
            gate.wait(5)
            raise Cancelled("stopped")

        app.bench.runner = slow
        await pilot.press("plus")
        await pilot.pause()
        assert view.kept != before
        estimated = [line for line in ui.text(app).splitlines() if "≈" in line]
        for what in ("output SQNR", "weights", "time", "MACs in int8"):
            assert any(what in line for line in estimated), what
        assert "≈ –" not in "".join(estimated)
        gate.set()

    ui.drive(script)
