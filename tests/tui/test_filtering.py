"""`/` on every screen with a list: rows follow each key, enter keeps them, esc gives all back; counts say how many of how many."""

from __future__ import annotations

from typing import Any

import pytest

from tui.widgets.filterbar import FilterBar
from workbench.samples import sample

ATTENTION = sample("digits_attention_ts.onnx")
APPLY = ("4", "A", "enter")
LISTS = {
    "tensors": (("3",), "query", "tensor-rows"),
    "passes": (("4",), "fuse", "rule-rows"),
    "profile": (("6", "r"), "matmul", "time-rows"),
    "compare": ((*APPLY, "7", "r"), "softmax", "value-rows"),
    "log": ((*APPLY, "9"), "optimize", "log-rows"),
}


@pytest.mark.parametrize("name", LISTS)
def test_rows_follow_what_is_typed_and_come_back(ui: Any, name: str) -> None:
    keys, query, rows_id = LISTS[name]

    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, *keys)
        rows = app.query_one(f"#{rows_id}")
        counts = [rows.count]
        await ui.press(pilot, app, "slash")
        for letter in query:
            await pilot.press(letter)
            await pilot.pause()
            counts.append(rows.count)
        assert counts == sorted(counts, reverse=True)
        assert 0 < rows.count < counts[0]
        await ui.settled(pilot, app)
        assert app.view().hits() in ui.text(app).splitlines()[-2]
        text = await ui.press(pilot, app, "enter")
        assert not app.query_one(FilterBar).is_open
        assert query in text.lower()
        await ui.press(pilot, app, "escape")
        assert rows.count == counts[0]

    ui.drive(script, ATTENTION)


@pytest.mark.parametrize("name", LISTS)
def test_a_query_without_hits_says_how_to_get_rid_of_it(ui: Any, name: str) -> None:
    keys, _, rows_id = LISTS[name]

    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, *keys, "slash", *"zzz", "enter")
        assert app.query_one(f"#{rows_id}").count == 0
        assert "esc clears the filter" in await ui.press(pilot, app, "y")

    ui.drive(script, ATTENTION)


def test_checks_are_found_by_code_words_place_and_rule(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "8")
        view = app.view("checks")
        first = view.found[0][0]
        for query in (first.code, first.code.lower(), first.fix, first.where[-6:]):
            view.on_filter(query)
            assert first.code in [g[0].code for g in view.groups], query
        view.on_filter("zzz")
        assert view.groups == []
        assert "esc clears the filter" in ui.text(app)

    ui.drive(script, ATTENTION)


def test_only_what_is_marked_among_the_checks_is_repaired(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "8")
        view = app.view("checks")
        everything = view._fixes()
        assert "fix all" in ui.text(app).splitlines()[-1]
        await ui.press(pilot, app, "space")
        assert "fix 1 marked" in ui.text(app).splitlines()[-1]
        assert view._fixes() == [view.found[0][0].fix]
        view.marks = {g[0].code for g in view.found}
        assert view._fixes() == everything
        view.marks = {"none of them"}
        assert "no rule repairs what is marked" in view.why_not("change.apply-all")

    ui.drive(script, ATTENTION)
