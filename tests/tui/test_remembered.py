"""A file that is opened again stands as it was left: filter, order, face and folds of every screen."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from workbench import sessions
from workbench.samples import sample


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, with a session file of its own."""
    monkeypatch.setattr(sessions, "state_path", lambda: tmp_path / "sessions.json")
    return Path(shutil.copy(sample("digits_attention_ts.onnx"), tmp_path / "m.onnx"))


def again(ui: Any, script: Any) -> Any:
    """The script on an app that remembers."""

    async def remembering(pilot: Any, app: Any) -> None:
        from tui import files

        app.remembers = True
        files.offer_resume(app)
        await script(pilot, app)
        files.note(app)

    return remembering


def test_filter_order_face_and_folds_are_there_again(ui: Any, model: Path) -> None:
    async def leave(pilot: Any, app: Any) -> None:
        await ui.press(
            pilot,
            app,
            "2",
            "slash",
            *"op:MatMul",
            "enter",
            "s",
            "S",
            "shift+tab",
            "E",
            "3",
            "slash",
            *"norm",
            "enter",
            "s",
        )
        await ui.press(pilot, app, "6", "t", "4", "E")

    async def come_back(pilot: Any, app: Any) -> None:
        text = await ui.press(pilot, app, "2")
        graph = app.view("graph")
        assert graph.query_text == "op:MatMul"
        assert "of 284" in text
        assert "284 of 284" not in text
        assert (graph.list.sort, graph.list.reverse) == ("MACs", True)
        assert len(graph.scopes.opened) > 1
        assert "norm" in await ui.press(pilot, app, "3")
        assert app.view("tensors").query_text == "norm"
        await ui.press(pilot, app, "6", "4")
        assert app.view("profile").face == 1
        assert app.view("passes").all_rules

    ui.drive(again(ui, leave), model)
    ui.drive(again(ui, come_back), model)


def test_the_drawing_is_drawn_again(ui: Any, model: Path) -> None:
    async def leave(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "2", "t")

    async def come_back(pilot: Any, app: Any) -> None:
        assert "╭" in await ui.press(pilot, app, "2")
        assert app.view("graph").drawn

    ui.drive(again(ui, leave), model)
    ui.drive(again(ui, come_back), model)


def test_a_session_file_of_other_kinds_harms_nothing(ui: Any, model: Path) -> None:
    wrong: dict[str, dict[str, object]] = {
        "graph": {"face": 7, "query_text": "macs>", "sort": 3, "opened": [1, "a"], "measure": "?", "scope": 5},
        "tensors": {"sort": 99, "query_text": 1}, "profile": {"face": "x", "sort": "?"}, "nowhere": {"a": 1},
    }  # fmt: skip
    sessions.remember(model, 1, screens=wrong)

    async def script(pilot: Any, app: Any) -> None:
        for key in "123456789":
            await ui.press(pilot, app, key)
        assert app.view("graph").query_text == ""
        assert app.view("graph").scopes.opened == {"", "a"}

    ui.drive(again(ui, script), model)
