"""What a reviewer looks for on every screen: one focus, heat that agrees with its number, names that keep their end, an inspector that fits."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from tui.theme import HEAT_GLYPHS, heat_of_share
from tui.views.view import Pane
from tui.widgets.rows import Rows
from workbench.drawing.canvas import DOWN, LEFT, RIGHT, UP
from workbench.drawing.dag import Drawing
from workbench.samples import sample

ATTENTION = sample("digits_attention_ts.onnx")


@pytest.mark.parametrize("size", [(140, 40), (80, 24)], ids=lambda s: str(s[0]))
def test_one_pane_has_the_focus_and_one_row_the_cursor(ui: Any, size: tuple[int, int]) -> None:
    async def script(pilot: Any, app: Any) -> None:
        for key in "123456789":
            await ui.press(pilot, app, key)
            lit = [p for p in app.view().query(Pane) if p.display and ("focus" in {token for _, token in p.rule.left})]
            assert len(lit) == 1, app.current
            screen = ui.text(app).splitlines()
            lists = [r.region for r in app.view().query(Rows) if r.is_on_screen and r.region]
            assert sum(screen[y][r.x] == "▌" for r in lists for y in range(r.y, r.bottom)) <= 1

    ui.drive(script, ATTENTION, size=size)


def test_heat_agrees_with_the_number_beside_it(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "6", "r")
        view = app.view("profile")
        for row, here in enumerate(view.rows):
            spans = view._row(row, 140)
            glyphs = [text for text, token in spans if token.startswith("heat.")]
            assert glyphs == [HEAT_GLYPHS[heat_of_share(here.node.share) or 0]]
            assert any(text.strip() == f"{100 * here.node.share:.1f}" for text, _ in spans)

    ui.drive(script, ATTENTION)


def test_a_name_that_is_cut_keeps_its_last_part(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "2")
        rows = app.view("graph").list
        cut = 0
        for row in range(rows.count):
            label = rows.lookup.table.label(rows.rows[row])
            name = next(text for text, token in rows._row(row, 58)[2:] if token == "fg").rstrip()
            if name.startswith("…"):
                cut += 1
                assert label.endswith(name[1:])
        assert cut > 20

    ui.drive(script, ATTENTION)


@pytest.mark.parametrize("path", [sample("digits_cnn.onnx"), ATTENTION], ids=lambda p: p.stem)
def test_the_inspector_has_everything_without_scrolling(ui: Any, path: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "6", "r", "4", "2")
        graph = app.view("graph")
        for row in range(0, graph.list.count, 7):
            graph.list.cursor = row
            await pilot.pause()
            lines = ["".join(text for text, _ in spans) for spans, _ in graph.inspector.lines]
            assert len(lines) <= graph.inspector.size.height, lines
            text = "\n".join(lines)
            for part in ("outputs ╌", "cost and time ╌", "origin ╌", "could be ╌"):
                assert part in text
            assert "median" in text or "in no step" in text

    ui.drive(script, path)


def test_shapes_use_the_cross_and_long_sizes_stand_in_a_legend(ui: Any, tmp_path: Path) -> None:
    long = "p2o.DynamicDimension.0"
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [long, 3, "seq", long]) for n in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], "relu")], "g", values[:1], values[1:])
    path = tmp_path / "sizes.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)

    async def script(pilot: Any, app: Any) -> None:
        overview = await ui.press(pilot, app, "1")
        assert overview.count("?0×3×seq×?0") == 2
        assert re.search(rf"^ \?0 +{re.escape(long)}", overview, flags=re.MULTILINE)
        assert "?0×3×seq×?0" in await ui.press(pilot, app, "2")
        for key in "123456789":
            assert not re.search(r"\d ?x ?\d", await ui.press(pilot, app, key)), app.current

    ui.drive(script, path)


def reached(drawing: Drawing, start: int) -> set[int]:
    """The boxes that wires lead to from a box's lower edge, followed cell by cell without going through a box."""
    owner = {(y, x): k for k, p in enumerate(drawing.places) for y in range(p.top, p.top + p.height) for x in range(p.left, p.left + p.width)}  # fmt: skip
    here = drawing.places[start]
    low = here.top + here.height - 1
    todo = [(low + 1, x) for x in range(here.left, here.left + here.width) if drawing.canvas.bits.get(low, {}).get(x, 0) & DOWN]  # fmt: skip
    seen, found = set(todo), set()
    while todo:
        y, x = todo.pop()
        for bit, dy, dx in ((UP, -1, 0), (DOWN, 1, 0), (LEFT, 0, -1), (RIGHT, 0, 1)):
            to = (y + dy, x + dx)
            if not drawing.canvas.bits.get(y, {}).get(x, 0) & bit or to in seen:
                continue
            if to in owner:
                if bit == DOWN:
                    found.add(owner[to])
                continue
            seen.add(to)
            todo.append(to)
    return found


def test_a_c2f_block_is_drawn_with_both_skips_around_its_boxes_and_a_bold_critical_path(
    ui: Any, tmp_path: Path
) -> None:
    spec = importlib.util.spec_from_file_location("showmodels", Path(__file__).parents[2] / "docs" / "showmodels.py")
    assert spec is not None
    assert spec.loader is not None
    showmodels = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(showmodels)

    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "6", "r", "2", "t")
        graph = app.view("graph")
        found, table = graph.drawing.picture, graph.lookup.table
        drawing, boxes = found.drawing, {table.label(g.rows[0]): k for k, g in enumerate(found.groups)}
        lines = drawing.lines()

        def box(name: str) -> int:
            return next(k for label, k in boxes.items() if label.startswith(name))

        first, second = box("/model.2/m.0/Add"), box("/model.2/m.1/Add")
        assert {box("/model.2/m.0/cv1"), first} <= reached(drawing, box("/model.2/Split"))  # the skip of the first
        assert {box("/model.2/m.1/cv1"), second} <= reached(drawing, first)  # that of the second
        for place in drawing.places:
            for y in range(place.top + 1, place.top + place.height - 1):
                inside = lines[y][place.left + 1 : place.left + place.width - 1]
                assert not set(inside) & set("─│━┃┼╋├┤┬┴┣┫┳┻"), inside
        critical = graph.owb.bench.results.paths[id(graph.lookup.profile)]
        on_path = {k for k, g in enumerate(found.groups) if not set(g.rows).isdisjoint(critical.path)}
        assert on_path
        assert {k for k, p in enumerate(drawing.places) if lines[p.top][p.left] == "┏"} == on_path

    ui.drive(script, showmodels.c2f(tmp_path))
