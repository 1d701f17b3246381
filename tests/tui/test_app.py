"""The terminal UI driven by keys: what is on the screen after each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import onnx
import pytest
from onnx import parser
from textual.pilot import Pilot

from tui.actions import ACTIONS, BY_ID
from tui.app import WorkbenchApp
from tui.views import registry
from tui.widgets.filterbar import FilterBar
from tui.widgets.rows import Rows
from workbench.samples import sample

CNN = sample("digits_cnn.onnx")
Script = Callable[[Pilot[None], WorkbenchApp], Awaitable[None]]


def drive(script: Script, path: Path = CNN, size: tuple[int, int] = (140, 40)) -> None:
    """Run the app without a terminal and let `script` press keys."""

    async def run() -> None:
        app = WorkbenchApp(path)
        async with app.run_test(size=size, notifications=True) as pilot:
            await settled(pilot, app)
            await script(pilot, app)

    asyncio.run(run())


async def settled(pilot: Pilot[None], app: WorkbenchApp, seconds: float = 20.0) -> None:
    """Wait until no job runs and the screen is drawn."""
    for _ in range(int(seconds / 0.02)):
        await pilot.pause(0.02)
        if not app.bridge.jobs and app.bench is not None:
            break
    await pilot.pause()


def screen_text(app: WorkbenchApp) -> str:
    """The whole screen as plain text."""
    width, height = app.size
    strips = app.screen._compositor.render_strips(app.size)  # the composed screen, cell by cell
    return "\n".join("".join(segment.text for segment in strip)[:width] for strip in strips[:height])


def test_the_first_screen_says_what_the_model_is() -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        text = screen_text(app)
        assert "digits_cnn.onnx" in text
        assert "batch×1×8×8" in text
        assert "BatchNormalization" in text

    drive(script)


@pytest.mark.parametrize("name", registry.names())
@pytest.mark.parametrize("size", [(140, 40), (80, 24), (60, 15)], ids=lambda s: f"{s[0]}x{s[1]}")
def test_every_screen_fits(name: str, size: tuple[int, int]) -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        await pilot.press(BY_ID[f"go.{name}"].keys)
        await settled(pilot, app)
        lines = screen_text(app).splitlines()
        assert len(lines) == size[1]
        assert all(len(line) <= size[0] for line in lines)
        assert "all keys" in lines[-1]
        assert app.current == name

    drive(script, size=size)


def test_the_filter_narrows_while_one_types_and_escape_clears_it() -> None:
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

    drive(script)


def test_a_wrong_query_is_told_and_the_list_stays() -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        await pilot.press("2", "slash", *"foo:1")
        await pilot.pause()
        assert "no field" in screen_text(app)
        assert app.query_one(FilterBar).is_open

    drive(script)


def test_wires_are_followed_and_one_can_go_back() -> None:
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

    drive(script)


def test_all_ready_rules_apply_verified_and_undo_brings_the_original_back() -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        await pilot.press("4")
        await settled(pilot, app)
        before = app.bench.model("A").to_proto().SerializeToString(deterministic=True)  # type: ignore[union-attr]
        await pilot.press("A", "enter")
        await settled(pilot, app)
        assert app.bench is not None
        assert app.bench.b == 1
        assert app.bench.info("B").nodes < app.bench.info("A").nodes
        assert "Verified" in screen_text(app)
        await pilot.press("z")
        await settled(pilot, app)
        assert app.bench.b == 0
        assert app.bench.model("B").to_proto().SerializeToString(deterministic=True) == before
        await pilot.press("Z")
        await settled(pilot, app)
        assert app.bench.b == 1

    drive(script)


def test_a_profile_runs_and_its_slowest_node_opens_in_graph() -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        await pilot.press("6")
        assert "No profile yet" in screen_text(app)
        await pilot.press("r")
        await settled(pilot, app)
        assert "Sum of nodes" in screen_text(app)
        await pilot.press("enter")
        await settled(pilot, app)
        assert app.current == "graph"
        assert "median" in screen_text(app)

    drive(script)


def test_compare_lines_values_up_after_a_change() -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        await pilot.press("7")
        await settled(pilot, app)
        assert "B is A" in screen_text(app)
        await pilot.press("4")
        await settled(pilot, app)
        await pilot.press("A", "enter")
        await settled(pilot, app)
        await pilot.press("7", "r")
        await settled(pilot, app)
        assert "the outputs agree" in screen_text(app)

    drive(script)


def test_a_disabled_key_says_why() -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        for key, reason in (
            ("z", "nothing to undo"),
            ("b", "B is A"),
            ("left_square_bracket", "nothing to go back to"),
            ("w", "nothing changed"),
        ):
            await pilot.press(key)
            await pilot.pause()
            assert reason in screen_text(app)

    drive(script)


def test_leaving_with_unsaved_steps_asks_first() -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        await pilot.press("4")
        await settled(pilot, app)
        await pilot.press("A", "enter")
        await settled(pilot, app)
        await pilot.press("q")
        await pilot.pause()
        assert "not saved" in screen_text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert app.is_running

    drive(script)


def test_help_and_palette_open_over_every_screen() -> None:
    async def script(pilot: Pilot[None], app: WorkbenchApp) -> None:
        for key in "1234678":
            await pilot.press(key)
            await settled(pilot, app)
            await pilot.press("question_mark")
            await pilot.pause()
            assert "Keys of" in screen_text(app)
            await pilot.press("escape")
            await pilot.press("colon", *"undo")
            await pilot.pause()
            assert "nothing to undo" in screen_text(app)
            await pilot.press("escape")

    drive(script)


def test_a_file_that_cannot_be_read_is_an_error_on_the_screen(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")

    async def run() -> str:
        app = WorkbenchApp(path)
        async with app.run_test(size=(100, 30)) as pilot:
            for _ in range(200):
                await pilot.pause(0.02)
                if "try" in (text := screen_text(app)):
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


def test_hostile_names_change_nothing_on_any_screen(tmp_path: Path) -> None:
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
            await settled(pilot, app)
            await pilot.press("down", "down", "y")
            await pilot.pause()
            text = screen_text(app)
            assert "\x1b" not in text
            assert "\u202e" not in text
            assert len(text.splitlines()) == 40

    drive(script, path)


def test_action_ids_and_keys_are_unique() -> None:
    assert len(BY_ID) == len(ACTIONS)
    keys = [key for action in ACTIONS if action.keys for key in action.keys.split(",")]
    assert len(keys) == len(set(keys))
