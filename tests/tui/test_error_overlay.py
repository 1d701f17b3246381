"""Graph's overlay "error": after a comparison each node has its SQNR, its largest difference and its heat."""

from __future__ import annotations

from typing import Any

from workbench.nodeerrors import node_errors


def test_without_a_comparison_the_overlay_is_passed_over_and_says_what_it_waits_for(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "2")
        rows = app.view("graph").list
        seen = []
        for _ in range(7):
            text = await ui.press(pilot, app, "c")
            seen.append((rows.measure, "error needs a comparison: 7 r" in text))
        assert "error" not in [measure for measure, _ in seen]
        assert [measure for measure, said in seen if said] == ["none"]

    ui.drive(script)


def test_after_a_comparison_list_and_drawing_show_the_errors(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "4", "A", "enter", "7", "r", "2")
        graph = app.view("graph")
        while graph.list.measure != "error":
            await ui.press(pilot, app, "c")
        compared = next(iter(app.bench.results.comparisons.values()))
        errors = node_errors(graph.lookup, compared, "B")
        assert errors == graph.list.errors
        label, error = next((graph.lookup.table.label(r), e) for r, e in errors.items() if e.max_abs > 0)
        lines = ui.text(app).splitlines()
        row = next(line for line in lines if label.rpartition("/")[2] in line and "dB" in line)
        assert "SQNR" in ui.text(app)
        assert "·" in row or "░" in row
        assert error.sqnr_db > 50
        boxes = await ui.press(pilot, app, "t")
        assert "dB" in boxes
        assert "max " in boxes

    ui.drive(script)


def test_errors_are_of_the_slot_that_is_shown(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "4", "A", "enter", "7", "r")
        compared = next(iter(app.bench.results.comparisons.values()))
        a, b = app.bench.lookup("A"), app.bench.lookup("B")
        of_a, of_b = node_errors(a, compared, "A"), node_errors(b, compared, "B")
        assert len(of_a) == len(of_b) == len({v.after for v in compared.values} & {t.name for n in b.table.node for t in n.outputs})  # fmt: skip
        assert node_errors(b, None, "B") == {}

    ui.drive(script)
