"""What must be seen: the text one types, the title of a pane, the sentence that belongs to a screen."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from tui.views.rulepage import page
from workbench.slices import axis_pairs, slice_of

WIDTHS = [(140, 40), (80, 24), (60, 15)]


@pytest.mark.parametrize("size", WIDTHS, ids=lambda s: str(s[0]))
@pytest.mark.parametrize("keys", [("2", "slash"), ("colon",), ("O",)], ids=lambda k: k[-1])
def test_typed_text_stands_on_the_screen(ui: Any, keys: tuple[str, ...], size: tuple[int, int]) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, *keys)
        await pilot.press(*"zebra")
        await pilot.pause()
        assert "zebra" in ui.text(app)

    ui.drive(script, size=size)


def test_the_name_to_save_under_stands_on_the_screen(ui: Any, tmp_path: Path) -> None:
    path = Path(shutil.copy(ui.CNN, tmp_path / "m.onnx"))

    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "4", "A", "enter", "w", "tab")
        await pilot.press("end", *"_zebra")
        await pilot.pause()
        assert "m_step1_zebra.onnx" in ui.text(app)
        assert "m_step1_zebra " in ui.text(app)

    ui.drive(script, path)


@pytest.mark.parametrize("size", WIDTHS, ids=lambda s: str(s[0]))
def test_every_pane_keeps_its_title(ui: Any, size: tuple[int, int]) -> None:
    from tui.views.view import Pane

    async def script(pilot: Any, app: Any) -> None:
        for key in "123456789":
            await ui.press(pilot, app, key)
            for pane in app.view().query(Pane):
                if pane.display and pane.size.width > 12:
                    shown = "".join(text for text, _ in pane.rule.left)
                    assert pane.rule._title in shown
                    assert pane.rule.render_line(0).text.startswith(shown[: pane.size.width])

    ui.drive(script, size=size)


def test_a_refused_key_is_answered_until_the_next_key(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        assert "nothing to undo" in await ui.press(pilot, app, "z")
        assert "nothing to undo" not in await ui.press(pilot, app, "j")

    ui.drive(script)


def test_each_screen_has_its_own_sentence(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        assert "Opened in" in ui.text(app)
        assert "sum " in await ui.press(pilot, app, "6", "r")
        assert "sum " not in (await ui.press(pilot, app, "2")).splitlines()[-2]
        assert "Opened in" in await ui.press(pilot, app, "1")
        assert "sum " in (await ui.press(pilot, app, "6")).splitlines()[-2]

    ui.drive(script)


def test_a_rule_that_waits_for_others_is_not_offered_alone(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "4")
        view = app.view("passes")
        view.alone = dict.fromkeys(view.alone, 0)
        view._show_rules()
        assert {r.group for r in view.rows if r.places} == {"later"}
        assert "come after other rules" in await ui.press(pilot, app, "a")
        assert app.bench.b == 0

    ui.drive(script)


def test_places_counted_alone_are_those_that_apply_alone(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await ui.press(pilot, app, "4")
        view = app.view("passes")
        rule = view.current()
        assert f"apply {rule.alone}" in ui.text(app).splitlines()[-1]
        await ui.press(pilot, app, "a", "enter")
        done = app.bench.history.steps[-1].report
        assert len(done.of(rule.id)) == rule.alone

    ui.drive(script)


def test_a_reason_that_holds_at_many_places_stands_once(ui: Any) -> None:
    from passes.report import Refused

    class Found:
        refused = tuple(Refused("r", f"node{k}", "needs opset 14") for k in range(9))

        def of(self, rule: str) -> tuple[()]:
            return ()

    lines = ["".join(text for text, _ in line) for line in page("r", None, Found(), None, 0, 60)]  # type: ignore[arg-type]
    assert sum("needs opset 14" in line for line in lines) == 1
    assert any("3 more" in line for line in lines)


def test_any_two_axes_of_a_weight_can_be_shown() -> None:
    import numpy as np

    values = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    assert axis_pairs((384, 384, 1, 1))[0] == (0, 1)
    assert len(axis_pairs((2, 3, 4, 5))) == 6
    piece = slice_of(values, 2, (0, 2))
    assert piece.index == (None, 2, None)
    assert piece.count == 3
    assert (piece.values == values[:, 2, :]).all()
    assert (slice_of(values, 1).values == values[1]).all()
    assert slice_of(np.zeros(3), 0).values.shape == (1, 3)


@pytest.mark.slow  # ten seconds and more of real work behind the screen
def test_weights_of_a_and_b_stand_in_pairs(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        text = await ui.press(pilot, app, "5", "r", "enter", "a", "enter", "b", "3")
        assert "Tensors A→B" in text
        view = app.view("tensors")
        signs = {view.all[k].name: view._sign(k) for k in view.rows}
        assert signs["convs.1.weight_2_quantized"] == "~"
        assert signs["convs.1.weight_2_scale"] == "+"
        assert signs["norms.1.bias"] == "−"
        assert signs["head.bias"] == "="
        assert "scale" in text
        assert "along axis 0" in text
        half = next(k for k in view.rows if view.all[k].name == "head.weight_half")
        assert view.apart[half].sqnr_db > 50
        await ui.press(pilot, app, "b")
        assert "Tensors A→B" not in ui.text(app)

    ui.drive(script)


def test_a_window_made_smaller_is_laid_out_for_its_new_size(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        await pilot.resize_terminal(60, 15)
        await ui.settled(pilot, app)
        assert "▐1 Ovw▌ 2  3 ╎ 4  5 ╎ 6  7  8 ╎ 9" in ui.text(app)
        assert not app.query_one("#floor").display
        await pilot.resize_terminal(140, 40)
        await ui.settled(pilot, app)
        assert "▐1 Overview▌  2 Graph   3 Tensors" in ui.text(app)
        assert app.query_one("#floor").display

    ui.drive(script)


def test_an_empty_list_says_what_fills_it_where_the_pane_beside_is_hidden(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        assert "r run 12 times in embedded" in await ui.press(pilot, app, "6")
        assert "r choose the scheme, enter ranks every node" in await ui.press(pilot, app, "5")
        said = await ui.press(pilot, app, "7")
        assert "B is A: change something in 4 or 5, or open a second file" in " ".join(said.split())

    ui.drive(script, size=(60, 15))


def test_what_cannot_be_used_gives_way_in_a_narrow_footer(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        footer = (await ui.press(pilot, app, "5")).splitlines()[-1]
        assert "r rank" in footer
        assert "R scheme" in footer
        assert footer.rstrip().endswith("? all keys")

    ui.drive(script, size=(60, 15))


def test_the_header_counts_the_nodes_below_an_if_as_the_list_does(ui: Any, tmp_path: Path) -> None:
    def branch(op: str) -> onnx.GraphProto:
        made = helper.make_tensor_value_info("out", TensorProto.FLOAT, [4, 4])
        return helper.make_graph([helper.make_node(op, ["x", "x"], ["out"], op.lower())], op, [], [made])

    values = [helper.make_tensor_value_info(n, t, s) for n, t, s in (("c", TensorProto.BOOL, []), ("x", TensorProto.FLOAT, [4, 4]), ("y", TensorProto.FLOAT, [4, 4]))]  # fmt: skip
    node = helper.make_node("If", ["c"], ["y"], "either", then_branch=branch("MatMul"), else_branch=branch("Add"))
    path = tmp_path / "either.onnx"
    graph = helper.make_graph([node], "g", values[:2], values[2:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)

    async def script(pilot: Any, app: Any) -> None:
        screen = await ui.press(pilot, app, "2")
        assert "3 nodes" in screen.splitlines()[0]
        assert "3 of 3" in screen
        assert "B has Conv, Gemm or MatMul only below If, Loop or in functions" in await ui.press(pilot, app, "5")

    ui.drive(script, path)
