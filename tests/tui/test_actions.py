"""What each key does, and what it says when it cannot."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

from tui.actions import ACTIONS
from tui.views import registry


def test_every_disabled_key_gives_a_reason_with_a_name_or_a_next_key(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        for name in registry.names():
            app.go(name)
            await ui.settled(pilot, app)
            for action in ACTIONS:
                reason = app.view().why_not(action.id) or app.why_not(action.id)
                if reason and action.keys:
                    app.act(action.id)
                    await pilot.pause()
                    assert reason[:40] in ui.text(app)
                    assert "\n" not in reason

    ui.drive(script)


@pytest.mark.parametrize("name", registry.names())
def test_a_footer_has_ten_keys_at_most_and_ends_with_all_keys(ui: Any, name: str) -> None:
    async def script(pilot: Any, app: Any) -> None:
        app.go(name)
        await ui.settled(pilot, app)
        assert 1 <= len(app.view().footer()) <= 10
        assert ui.text(app).splitlines()[-1].rstrip().endswith("? all keys")

    ui.drive(script)


def test_marks_ranges_and_alike_then_extract_what_lies_between(ui: Any, tmp_path: Path) -> None:
    path = Path(shutil.copy(ui.CNN, tmp_path / "m.onnx"))

    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "2", "space", "space", "j", "v")
        graph = app.view("graph")
        assert len(graph.list.marks) == 4
        await ui.press(pilot, app, "x", "enter")
        await ui.press(pilot, app, "g", "asterisk")
        assert all(graph.lookup.table.op[graph.lookup.row_of[n]] for n in graph.list.marks)

    ui.drive(script, path)
    part = onnx.load(tmp_path / "m_part.onnx")
    assert [n.op_type for n in part.graph.node] == ["Conv", "BatchNormalization", "Relu", "Conv"]


def test_jump_letters_and_bookmarks(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "2", "j", "j", "m")
        marked = app.cursor
        await ui.press(pilot, app, "G", "apostrophe")
        await ui.press(pilot, app, "s")
        assert app.view("graph").list.cursor == 1
        await ui.press(pilot, app, "apostrophe", "A")
        assert app.cursor == marked

    ui.drive(script)


def test_overlays_and_faces_go_round(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "2")
        seen = {app.view("graph").list.measure}
        for _ in range(6):
            await ui.press(pilot, app, "c")
            seen.add(app.view("graph").list.measure)
        assert seen == {"none", "MACs", "bytes", "params", "dtype"}
        drawn = await ui.press(pilot, app, "t")
        assert "╭─" in drawn
        near = await ui.press(pilot, app, "plus")
        assert "within 1 of" in near
        assert "within" not in (await ui.press(pilot, app, "minus")).splitlines()[2]

    ui.drive(script)


def test_a_chain_is_one_box_and_unfolds(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        text = await ui.press(pilot, app, "2", "t")
        assert "Conv ▸ BatchNormalization" in text
        boxes = len(app.view("graph").drawing.picture.groups)
        await ui.press(pilot, app, "e")
        assert len(app.view("graph").drawing.picture.groups) > boxes

    ui.drive(script)


def test_a_subgraph_is_entered_in_place_and_left_again(ui: Any, tmp_path: Path) -> None:
    path = tmp_path / "branch.onnx"
    onnx.save(parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]> g (bool c, float[2] x) => (float[2] y) {
          y = If (c) <then_branch = a () => (float[2] t) { t = Relu(x) }, else_branch = b () => (float[2] e) { e = Neg(x) }>
        }"""), path)  # fmt: skip

    async def script(pilot: Any, app: Any) -> None:
        text = await ui.press(pilot, app, "2", "enter")
        assert "subgraph" in text
        rows = app.view("graph").list
        assert rows.count == 2
        await ui.press(pilot, app, "escape")
        assert rows.count == 3

    ui.drive(script, path)


def test_a_and_b_side_by_side_on_every_screen(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "4", "A", "enter", "b")
        assert app.bench.shown == "A→B"
        assert "A→B" in (await ui.press(pilot, app, "1")).splitlines()[2]
        graph = await ui.press(pilot, app, "2")
        assert "Nodes A→B" in graph
        assert any(line[:40].count("−") or "− BatchNorm" in line for line in graph.splitlines())
        profile = await ui.press(pilot, app, "6", "r")
        assert "Profile of A→B" in profile
        assert "2×" in profile
        assert "fixed" in await ui.press(pilot, app, "8")

    ui.drive(script)


def test_old_results_stay_marked_until_new_ones_land(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "6", "r", "4", "A", "enter")
        text = await ui.press(pilot, app, "6")
        assert "≀" in text
        assert "r measures again" in text

    ui.drive(script)


def test_slots_are_chosen_and_a_second_file_stands_in_b(ui: Any, tmp_path: Path) -> None:
    other = Path(shutil.copy(ui.CNN, tmp_path / "other.onnx"))

    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "4", "A", "enter", "B")
        await ui.press(pilot, app, "j", "b")
        assert app.bench.b == 0
        app.bench.adopt(other)
        app.state_changed()
        await ui.settled(pilot, app)
        assert "other.onnx" in ui.text(app)
        await ui.press(pilot, app, "4", "A")
        assert "second file" in ui.text(app)
        assert "the outputs agree" in await ui.press(pilot, app, "7", "r")

    ui.drive(script)


def test_a_command_line_runs_beside_the_screen(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await pilot.press("colon", *"check", "space", "A", "enter")
        await ui.settled(pilot, app)
        assert "owb check" in ui.text(app)

    ui.drive(script)


def test_values_of_a_weight_are_seen_and_saved(ui: Any, tmp_path: Path) -> None:
    path = Path(shutil.copy(ui.CNN, tmp_path / "m.onnx"))

    async def script(pilot: Any, app: Any) -> None:
        text = await ui.press(pilot, app, "3", "enter")
        assert "piece 1 of" in text
        await ui.press(pilot, app, "n", "l", "j", "escape", "x", "enter")

    ui.drive(script, path)
    assert np.load(next(tmp_path.glob("*.npy"))).size > 1000


def test_a_key_of_ones_own_works_and_unknown_ids_are_said(
    ui: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keymap = tmp_path / "keymap.toml"
    keymap.write_text('"go.log" = "0"\n"go.nowhere" = "x"\n')
    monkeypatch.setattr("workbench.sessions.keymap_path", lambda: keymap)

    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "0")
        assert app.current == "log"

    ui.drive(script)


def test_a_rule_undone_is_a_toast(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        app.notify("x[/]y was undone", markup=False)
        await pilot.pause()
        assert "x[/]y was undone" in ui.text(app)

    ui.drive(script)


def test_cancel_leaves_the_screen_sound(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await pilot.press("6")
        app.view("profile").options = type(app.view("profile").options)(runs=100_000)
        await pilot.press("r")
        await pilot.pause(0.3)
        assert "ctrl+c stops" in ui.text(app) or "measuring" in ui.text(app)
        text = await ui.press(pilot, app, "ctrl+c")
        assert "stopped" in text
        assert "No profile yet" in text

    ui.drive(script)


def test_rails_draw_the_wires_beside_the_list_and_the_list_comes_back(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        drawn = await ui.press(pilot, app, "2", "t", "t")
        assert "list ⇄ DAG ⇄ rails" in drawn
        assert drawn.count("● ") == app.view("graph").list.count
        assert "order of execution" in await ui.press(pilot, app, "s")
        await ui.press(pilot, app, "j")
        assert app.cursor.index == 1
        assert "●" not in await ui.press(pilot, app, "t")

    ui.drive(script)


def test_the_map_beside_a_drawing_shows_what_is_in_view_and_a_click_goes_there(ui: Any) -> None:
    from tui.widgets.minimap import MiniMap

    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "2", "t")
        small = app.query_one(MiniMap)

        def inside() -> list[int]:
            return [y for y in range(small.size.height) if small.render_line(y).text.startswith("▐")]

        dag = small.dag
        assert dag.drawing.height > dag.size.height
        before = inside()
        assert before[0] == 0
        await pilot.click(MiniMap, offset=(1, small.size.height - 1))
        await ui.settled(pilot, app)
        assert dag.scroll_offset.y > 0
        assert inside()[-1] == small.size.height - 1
        assert before != inside()
        glyphs = {small.render_line(y).text[1] for y in range(small.size.height)}
        assert "█" in glyphs
        await ui.press(pilot, app, "g", "space")
        assert "●" in {small.render_line(y).text[1] for y in range(small.size.height)}

    ui.drive(script, size=(100, 20))
