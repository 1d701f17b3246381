"""Keys that mean more on some screens, and what is said when they cannot be used."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from tui.header import header
from workbench.samples import sample

ATTENTION = sample("digits_attention_ts.onnx")


def test_the_same_digit_again_shows_the_next_face(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "2", "2")
        assert app.view("graph").drawn
        await ui.press(pilot, app, "2", "1", "1")
        assert app.current == "overview"
        assert app.view("graph").FACES[app.view("graph").face] == "rails"

    ui.drive(script)


def test_plus_and_minus_open_the_scopes_a_level(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "2", "shift+tab")
        scopes = app.view("graph").scopes
        counts = [scopes.count]
        for key in ("plus", "plus", "minus", "minus"):
            await ui.press(pilot, app, key)
            counts.append(scopes.count)
        assert counts[0] < counts[1] < counts[2]
        assert counts[3:] == [counts[1], counts[0]]

    ui.drive(script, ATTENTION)


def test_marked_rules_are_applied_together(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "4", "space", "space")
        assert "apply 2 marked" in ui.text(app)
        names = list(app.view("passes").marks)
        assert "Apply 2 marked rules" in await ui.press(pilot, app, "a")
        await ui.press(pilot, app, "enter")
        assert sorted(app.bench.history.steps[1].options["passes"]) == sorted(names)
        assert not app.view("passes").marks

    ui.drive(script, ATTENTION)


def test_a_rule_that_is_refused_everywhere_says_why_when_applied(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "4")
        view = app.view("passes")
        view.main_pane().cursor = next(k for k, r in enumerate(view.rows) if r.group == "refused")
        await ui.settled(pilot, app)
        rule = view.current()
        assert f"{rule.id} refuses all {rule.refused} places: " in await ui.press(pilot, app, "a")

    ui.drive(script, ATTENTION)


def test_a_step_stands_in_the_history_while_it_is_verified_and_goes_when_stopped(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "4")
        begun = threading.Event()

        def slow(passes: Any, *, progress: Any, cancel: Any, **options: Any) -> Any:
            from exec.progress import check

            progress(412, 672, "node 412")
            begun.set()
            while True:
                check(cancel, "applying")

        app.bench.optimize = slow
        await pilot.press("A", "enter")
        while not begun.is_set():
            await pilot.pause(0.02)
        assert "verifying" in ui.text(app)
        assert "◐ applying" in "".join(text for text, _ in header(app)[1])
        text = await ui.press(pilot, app, "ctrl+c")
        assert "stopped after 412 of 672" in text
        assert "verifying" not in text

    ui.drive(script)


def test_every_repair_of_the_checks_is_one_step(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "8")
        fixes = app.view("checks")._fixes()
        assert fixes
        await ui.press(pilot, app, "A")
        assert app.bench.history.steps[1].options["passes"] == fixes
        assert app.bench.history.tip == 1

    ui.drive(script, ATTENTION)


def test_a_node_no_rule_concerns_says_who_reads_it(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        page = await ui.press(pilot, app, "4", "2", "d")
        assert "is read by" in page

    ui.drive(script, ATTENTION)


def test_a_command_is_found_by_its_first_letters(ui: Any, tmp_path: Path) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "colon")
        await pilot.press(*"opt")
        await pilot.pause()
        text = ui.text(app)
        assert "apply all ready: optimize" in text
        assert "optimize …" in text

    ui.drive(script)
