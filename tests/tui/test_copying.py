"""`y`, `Y`, and what the mouse selects: what lands in the clipboard can be used as it is."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import workbench
from workbench.cli.group import owb
from workbench.samples import sample

SCREENS = {
    "overview": (("1",), "inspect"),
    "graph": (("2", "j"), "show"),
    "tensors": (("3",), "show"),
    "passes": (("4",), "optimize"),
    "profile": (("6", "r"), "profile"),
    "checks": (("8",), "check"),
}


async def copied(ui: Any, pilot: Any, app: Any, letter: str) -> str:
    """One form of what is under the cursor."""
    assert "Copy as" in await ui.press(pilot, app, "Y")
    await ui.press(pilot, app, letter)
    return str(app.clipboard)


@pytest.mark.parametrize("name", SCREENS)
def test_a_copied_command_runs_and_copied_python_evaluates(
    ui: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(shutil.copy(sample("digits_attention_ts.onnx"), tmp_path / "it's a model.onnx"))
    keys, word = SCREENS[name]

    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, *keys)
        words = shlex.split(await copied(ui, pilot, app, "c"))
        assert words[:2] == ["owb", word]
        done = CliRunner().invoke(owb, words[1:])
        assert done.exit_code in (0, 1), done.output  # 1: a check that finds something
        assert "Error" not in done.output
        document = json.loads(await copied(ui, pilot, app, "d"))
        assert document["kind"]
        await ui.press(pilot, app, "y")
        name_copied = app.clipboard
        if name not in ("overview", "profile"):
            assert name_copied in shlex.join(words) or name_copied in words
        if "Python" in await ui.press(pilot, app, "Y"):
            await ui.press(pilot, app, "p")
            assert eval(app.clipboard, {"wb": workbench}) is not None

    ui.drive(script, path)


def test_what_is_copied_of_a_changed_model_names_the_file_it_would_be_saved_as(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "4", "A", "enter", "2")
        assert " B.onnx " in await copied(ui, pilot, app, "c")

    ui.drive(script)


def test_a_range_of_the_log_is_copied_as_lines_and_as_calls(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "4", "A", "enter", "9", "v", "k", "y")
        assert [line.split()[1] for line in app.clipboard.splitlines()] == [str(app.path), "optimize"]
        assert "wb.optimize(" in (await copied(ui, pilot, app, "p")).splitlines()[1]
        assert len(json.loads(await copied(ui, pilot, app, "d"))["entries"]) == 2

    ui.drive(script)


def test_what_the_mouse_selects_is_copied_with_ctrl_c(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        before = (await ui.press(pilot, app, "2")).splitlines()
        rows = app.view("graph").list
        x, y = rows.region.x, rows.region.y
        await pilot.mouse_down(offset=(x + 2, y))
        await pilot.hover(offset=(x + 6, y + 2))
        await pilot.mouse_up(offset=(x + 6, y + 2))
        text = await ui.press(pilot, app, "ctrl+c")
        lines = app.clipboard.splitlines()
        assert len(lines) == 3
        assert lines[0] == before[y][x + 2 : x + rows.scrollable_content_region.width].rstrip()
        assert lines[2] == before[y + 2][x : x + 6].rstrip() or lines[2] == before[y + 2][x : x + 7].rstrip()
        assert "copied 3 lines" in text

    ui.drive(script)


def test_without_a_selection_ctrl_c_stops_work_or_says_that_none_runs(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        assert "nothing is running" in await ui.press(pilot, app, "2", "ctrl+c")

    ui.drive(script)


def test_a_question_is_copied_as_the_command_that_does_it(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "4", "A", "y")
        assert app.clipboard == f"owb optimize {app.path} --passes default -o out.onnx"
        assert "y copies as CLI" in ui.text(app)  # the question stands until it is answered
        await ui.press(pilot, app, "escape", "a", "y")
        assert app.clipboard == f"owb optimize {app.path} --passes fuse-conv-bn -o out.onnx"

    ui.drive(script)
