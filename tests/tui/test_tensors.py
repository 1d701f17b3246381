"""Tensors: what is computed on the way, sets of columns, marks, and what is saved of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from exec.ir import load
from workbench.activations import computed, values_of
from workbench.feeding import feeds_for
from workbench.samples import sample
from workbench.tensors import tensor_stats

CNN = sample("digits_cnn.onnx")


def test_activations_are_what_the_reference_computes() -> None:
    pytest.importorskip("onnx.reference")
    from onnx.reference import ReferenceEvaluator

    model = load(CNN)
    feeds = feeds_for(model).values
    found = computed(model)
    proto = onnx.load(CNN)
    names = [name for node in proto.graph.node for name in node.output]
    assert list(found) == names
    del proto.graph.output[:]
    proto.graph.output.extend(onnx.helper.make_empty_tensor_value_info(n) for n in names)
    for name, want in zip(names, ReferenceEvaluator(proto).run(names, feeds), strict=True):
        assert found[name].shape == want.shape
        assert found[name].dtype == "float32"
        stats, same = found[name].stats, tensor_stats(want)
        assert stats is not None
        assert same is not None
        np.testing.assert_allclose([stats.min, stats.max, stats.mean], [same.min, same.max, same.mean], rtol=1e-3, atol=1e-5)  # fmt: skip


def test_faces_go_round_and_r_computes_once(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        weights = app.view("tensors")
        text = await ui.press(pilot, app, "3", "t")
        assert "Activations" in text
        assert "r runs the model once" in text
        assert "(r" not in text.splitlines()[-1]
        text = await ui.press(pilot, app, "r")
        assert "not computed yet" not in text
        assert "made by" in text
        assert "bench.activations()" in app.bench.log[-1].python
        assert "computed already" in await ui.press(pilot, app, "r")
        both = await ui.press(pilot, app, "t")
        assert "Weights and activations" in both
        assert {e.weight is None for e in weights.all} == {True, False}
        assert "Tensors" in await ui.press(pilot, app, "t")
        assert all(e.weight is not None for e in weights.all)

    ui.drive(script, CNN)


def test_i_and_o_follow_a_computed_value(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        assert "nothing makes it" in await ui.press(pilot, app, "3", "i")
        await ui.press(pilot, app, "t", "s", "i")
        assert app.current == "graph"
        first = app.bench.model("A").graph.nodes[0]
        assert app.view("graph").copy_text() == first.name
        await ui.press(pilot, app, "3", "o")
        assert app.view("graph").copy_text() == app.bench.model("A").graph.nodes[1].name

    ui.drive(script, CNN)


def test_alike_marks_one_shape_and_x_saves_them_by_name(ui: Any, tmp_path: Path) -> None:
    path = Path(shutil.copy(CNN, tmp_path / "m.onnx"))

    async def script(pilot: Any, app: Any) -> None:
        view = app.view("tensors")
        await ui.press(pilot, app, "3", "slash", *"norms.1", "enter", "asterisk")
        assert {view.all[k].name for k in view.marks} >= {"norms.1.weight", "norms.1.bias"}
        assert len({view.all[k].shape for k in view.marks}) == 1
        await ui.press(pilot, app, "x", "enter")
        await ui.press(pilot, app, "asterisk")
        assert not view.marks
        await ui.press(pilot, app, "t", "space", "x", "enter")

    ui.drive(script, path)
    model = load(CNN)
    with np.load(tmp_path / "m_tensors.npz", allow_pickle=False) as saved:
        (name,) = saved.files  # the last one saved: an activation, by its name
        np.testing.assert_array_equal(saved[name], values_of(model, [name])[name])


def test_values_of_a_computed_tensor_are_shown(ui: Any) -> None:
    async def script(pilot: Any, app: Any) -> None:
        text = await ui.press(pilot, app, "3", "t", "enter")
        assert "piece 1 of" in text

    ui.drive(script, CNN)


@pytest.mark.parametrize("size", [(140, 40), (80, 24)], ids=lambda s: str(s[0]))
def test_c_shows_another_set_of_columns(ui: Any, size: tuple[int, int]) -> None:
    async def script(pilot: Any, app: Any) -> None:
        heads = [(await ui.press(pilot, app, "3")).splitlines()[3]]
        heads += [(await ui.press(pilot, app, "c")).splitlines()[3] for _ in range(3)]
        assert heads[0] == heads[3]
        assert len(set(heads)) == 3
        assert "a row" in heads[1]
        assert "readers" in heads[2] or "%" in heads[2]
        assert "place" in await ui.press(pilot, app, "C")
        await ui.press(pilot, app, "escape", "6", "r")
        before = ui.text(app).splitlines()[3]
        after = (await ui.press(pilot, app, "c")).splitlines()[3]
        assert "MACs" in after
        assert "MACs" not in before

    ui.drive(script, CNN, size=size)
