"""Every action on every screen does something, or says why not; none ends in an error, none leaves the screen unsound."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tui.actions import ACTIONS
from tui.dialogs.failure import FailureDialog
from tui.views import registry
from tui.widgets.filterbar import FilterBar

LEAVES = {"app.quit", "app.suspend"}


@pytest.mark.slow
@pytest.mark.parametrize("name", registry.names())
def test_every_action_is_done_or_gives_a_reason(ui: Any, tmp_path: Path, name: str) -> None:
    path = Path(shutil.copy(ui.CNN, tmp_path / "m.onnx"))
    tried: set[str] = set()

    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "6", "r", "4", "A", "enter")
        for action in ACTIONS:
            if action.id in LEAVES or action.id.startswith("go."):
                continue
            app.query_one(FilterBar).close()
            app.go(name)
            while app.bridge.jobs:
                await pilot.pause(0.02)
            await pilot.pause()
            reason = app.view().why_not(action.id) or app.why_not(action.id)
            app.act(action.id)
            await pilot.pause()
            if reason:
                assert reason[:30] in ui.text(app), action.id
            else:
                tried.add(action.id)
            assert not isinstance(app.screen, FailureDialog), action.id
            while len(app.screen_stack) > 1:
                app.screen.dismiss(None)
                await pilot.pause()
            assert ui.text(app).startswith(" owb  m.onnx"), action.id
        await ui.settled(pilot, app)
        assert not isinstance(app.screen, FailureDialog)

    ui.drive(script, path)
    assert {"help.open", "palette.open", "move.down", "out.save", "slot.choose", "file.open"} <= tried


def test_leaving_asks_where_steps_would_be_lost(ui: Any, tmp_path: Path) -> None:
    path = Path(shutil.copy(ui.CNN, tmp_path / "m.onnx"))

    async def script(pilot: Any, app: Any) -> None:
        assert "not saved" in await ui.press(pilot, app, "4", "A", "enter", "q")
        await ui.press(pilot, app, "escape")
        assert app.is_running
        await ui.press(pilot, app, "w", "enter")
        await pilot.press("q")
        await pilot.pause()
        assert app.return_code == 0

    ui.drive(script, path)
