"""Compare's faces: values, structure, outputs; and what `x` saves on each."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from tui.views.differences import Change
from workbench.samples import sample


def test_structure_lists_every_difference_with_its_sign(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        text = await ui.press(pilot, app, "4", "A", "enter", "7", "t")
        view, delta = app.view("compare"), app.bench.delta()
        signs = [row.sign for row in view.rows if isinstance(row, Change) and row.op not in ("weight", "renamed")]
        assert signs.count("−") == len(delta.removed)
        assert signs.count("+") == len(delta.added)
        assert f"{len(view.rows)} differences" in text
        assert "− BatchNormalization" in text
        assert "this difference" in text
        gone = next(k for k, row in enumerate(view.rows) if row.sign == "−")
        app.query_one("#value-rows").cursor = gone
        await ui.settled(pilot, app)
        assert "gone from B" in ui.text(app)
        changed = next(row for row in view.rows if row.sign == "~" and row.node and row.op not in ("weight", "renamed"))
        app.query_one("#value-rows").cursor = view.rows.index(changed)
        await ui.press(pilot, app, "enter")
        assert app.current == "graph"
        assert app.view("graph").copy_text() == changed.node

    ui.drive(script)


def test_structure_needs_no_run_and_outputs_do(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        assert "differences" in await ui.press(pilot, app, "4", "A", "enter", "7", "t")
        assert "not run yet" in await ui.press(pilot, app, "t")
        text = await ui.press(pilot, app, "r")
        assert "✓ logits" in text
        assert "1 output" in text
        assert "t goes on to the values" in await ui.press(pilot, app, "n")

    ui.drive(script)


def test_x_saves_a_value_of_both_models(ui: Any, tmp_path: Path) -> None:
    path = Path(shutil.copy(sample("digits_cnn.onnx"), tmp_path / "m.onnx"))

    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "4", "A", "enter", "7", "r", "G", "x", "enter")
        value = app.view("compare").current()
        with np.load(tmp_path / "m_pair.npz", allow_pickle=False) as saved:
            assert saved["A"].shape == value.shape
            assert np.abs(saved["A"] - saved["B"]).max() == np.float32(value.max_abs)

    ui.drive(script, path)


def test_levels_count_every_value(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        text = await ui.press(pilot, app, "4", "A", "enter", "7", "r")
        total = len(app.view("compare").result.values)
        lines = text.splitlines()
        start = next(k for k, line in enumerate(lines) if "how many values at each level" in line)
        counts = [re.search(r"[·░▒▓█] +([\d,]+)", line.rpartition("│")[2]) for line in lines[start + 1 : start + 6]]
        assert all(counts)
        assert sum(int(found[1].replace(",", "")) for found in counts if found) == total

    ui.drive(script)
