"""The terminal UI driven by keys: what is on the screen after each."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import parser
from textual.pilot import Pilot

from tui.actions import ACTIONS, BY_ID
from tui.app import WorkbenchApp
from tui.views import registry
from tui.widgets.filterbar import FilterBar
from tui.widgets.rows import Rows


def test_the_first_screen_says_what_the_model_is(ui: Any) -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        text = ui.text(app)
        assert "digits_cnn.onnx" in text
        assert "batch×1×8×8" in text
        assert "BatchNormalization" in text

    ui.drive(script)


@pytest.mark.parametrize("name", registry.names())
@pytest.mark.parametrize("size", [(140, 40), (80, 24), (60, 15)], ids=lambda s: f"{s[0]}x{s[1]}")
def test_every_screen_fits(ui: Any, name: str, size: tuple[int, int]) -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        await pilot.press(BY_ID[f"go.{name}"].keys)
        await ui.settled(pilot, app)
        lines = ui.text(app).splitlines()
        assert len(lines) == size[1]
        assert all(len(line) <= size[0] for line in lines)
        assert "all keys" in lines[-1]
        assert app.current == name

    ui.drive(script, size=size)


def test_the_filter_narrows_while_one_types_and_escape_clears_it(ui: Any) -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        await pilot.press("2", "slash", *"op:Conv")
        await pilot.pause()
        rows = app.query_one("#node-rows", Rows)
        assert rows.count == 3
        await pilot.press("enter")
        assert rows.has_focus
        assert rows.count == 3
        await pilot.press("slash", "escape")
        await pilot.pause()
        assert rows.count == 13

    ui.drive(script)


def test_a_wrong_query_is_told_and_the_list_stays(ui: Any) -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        await pilot.press("2", "slash", *"foo:1")
        await pilot.pause()
        assert "no field" in ui.text(app)
        assert app.query_one(FilterBar).is_open

    ui.drive(script)


def test_wires_are_followed_and_one_can_go_back(ui: Any) -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        await pilot.press("2", "o")
        await pilot.pause()
        assert app.cursor is not None
        assert app.cursor.index == 1
        await pilot.press("i")
        await pilot.pause()
        assert app.cursor.index == 0
        await pilot.press("left_square_bracket")
        await pilot.pause()
        assert app.cursor.index == 1

    ui.drive(script)


def test_all_ready_rules_apply_verified_and_undo_brings_the_original_back(ui: Any) -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        await pilot.press("4")
        await ui.settled(pilot, app)
        before = app.bench.model("A").to_proto().SerializeToString(deterministic=True)  # type: ignore[union-attr]
        await pilot.press("A", "enter")
        await ui.settled(pilot, app)
        assert app.bench is not None
        assert app.bench.b == 1
        assert app.bench.info("B").nodes < app.bench.info("A").nodes
        assert "verified" in ui.text(app)
        await pilot.press("z")
        await ui.settled(pilot, app)
        assert app.bench.b == 0
        assert app.bench.model("B").to_proto().SerializeToString(deterministic=True) == before
        await pilot.press("Z")
        await ui.settled(pilot, app)
        assert app.bench.b == 1

    ui.drive(script)


def test_a_profile_runs_and_its_slowest_node_opens_in_graph(ui: Any) -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        await pilot.press("6")
        assert "No profile yet" in ui.text(app)
        await pilot.press("r")
        await ui.settled(pilot, app)
        assert "Sum of nodes" in ui.text(app)
        await pilot.press("enter")
        await ui.settled(pilot, app)
        assert app.current == "graph"
        assert "median" in ui.text(app)

    ui.drive(script)


def test_compare_lines_values_up_after_a_change(ui: Any) -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        await pilot.press("7")
        await ui.settled(pilot, app)
        assert "B is A" in ui.text(app)
        await pilot.press("4")
        await ui.settled(pilot, app)
        await pilot.press("A", "enter")
        await ui.settled(pilot, app)
        await pilot.press("7", "r")
        await ui.settled(pilot, app)
        assert "the outputs agree" in ui.text(app)

    ui.drive(script)


def test_a_disabled_key_says_why(ui: Any) -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        for key, reason in (
            ("z", "nothing to undo"),
            ("b", "B is A"),
            ("left_square_bracket", "nothing to go back to"),
            ("w", "nothing changed"),
        ):
            await pilot.press(key)
            await pilot.pause()
            assert reason in ui.text(app)

    ui.drive(script)


def test_leaving_with_unsaved_steps_asks_first(ui: Any) -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        await pilot.press("4")
        await ui.settled(pilot, app)
        await pilot.press("A", "enter")
        await ui.settled(pilot, app)
        await pilot.press("q")
        await pilot.pause()
        assert "not saved" in ui.text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert app.is_running

    ui.drive(script)


def test_help_and_palette_open_over_every_screen(ui: Any) -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        for key in "1234678":
            await pilot.press(key)
            await ui.settled(pilot, app)
            await pilot.press("question_mark")
            await pilot.pause()
            assert "Keys of" in ui.text(app)
            await pilot.press("escape")
            await pilot.press("colon", *"undo")
            await pilot.pause()
            assert "nothing to undo" in ui.text(app)
            await pilot.press("escape")

    ui.drive(script)


def test_a_file_that_cannot_be_read_is_an_error_on_the_screen(ui: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")

    async def run() -> str:
        app = WorkbenchApp(path)
        async with app.run_test(size=(100, 30)) as pilot:
            for _ in range(200):
                await pilot.pause(0.02)
                if "try" in (text := ui.text(app)):
                    break
            return text

    text = asyncio.run(run())
    assert "unreadable-model" in text
    assert "git lfs pull" in text


HOSTILE = [
    "x[/]y",
    "[red]x[/red]",
    "[@click=app.bell]n[/]",
    "a[b",
    "\x1b]0;pwn\x07",
    "\x1b[2J",
    "\u202ertl",
    "new\nline",
    "tab\there",
    "\udcff",
    "e" * 5000,
    "é\u0301\u0301\u0301\u0301",
    "",
    "{}%s",
]


def test_hostile_names_change_nothing_on_any_screen(ui: Any, tmp_path: Path) -> None:
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }'
    )
    proto = model.graph.node[0]
    del model.graph.node[:]
    last = "x"
    for k, name in enumerate(n for n in HOSTILE if n.isprintable() or "\udcff" not in n):
        node = model.graph.node.add()
        node.CopyFrom(proto)
        node.name = name
        node.input[0] = last
        last = node.output[0] = f"{name}{k}"
    model.graph.output[0].name = last
    path = tmp_path / "hostile.onnx"
    onnx.save(model, path)

    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        for key in "123468":
            await pilot.press(key)
            await ui.settled(pilot, app)
            await pilot.press("down", "down", "y")
            await pilot.pause()
            text = ui.text(app)
            assert "\x1b" not in text
            assert "\u202e" not in text
            assert len(text.splitlines()) == 40

    ui.drive(script, path)


def test_action_ids_and_keys_are_unique() -> None:
    assert len(BY_ID) == len(ACTIONS)
    keys = [key for action in ACTIONS if action.keys for key in action.keys.split(",")]
    assert len(keys) == len(set(keys))
