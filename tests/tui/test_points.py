"""What a reviewer looks for on every screen: one focus, heat that agrees with its number, names that keep their end, an inspector that fits."""

from __future__ import annotations

from typing import Any

import pytest

from tui.theme import HEAT_GLYPHS, heat_of_share
from tui.views.view import Pane
from tui.widgets.rows import Rows
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
