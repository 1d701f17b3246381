"""Repairs leave the function as it is and make its channels alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper, parser

from exec.errors import OptionError
from exec.metrics import sqnr_db
from quantize.ranges import load_ranges, save_ranges
from quantize.repair import equalize
from workbench import Model, Session, load, quantize

R = np.random.default_rng(4)
EXACT_DB = 100.0  # float32 rounding of rescaled products


def f32(*shape: int) -> Any:
    return R.standard_normal(shape).astype(np.float32)


def build(text: str, **weights: Any) -> Model:
    proto = parser.parse_model(f'<ir_version: 9, opset_import: ["" : 17]> {text}')
    proto.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items())
    return load(proto)


def outliers(size: int, at: int, factor: float) -> Any:
    spread = np.ones(size, np.float32)
    spread[at] = factor
    return spread


NETS: dict[str, tuple[str, dict[str, tuple[int, ...]]]] = {
    "conv-relu-conv": ("g (float[1,3,8,8] x) => (float[1,4,4,4] y) { a = Conv(x, w, b) r = Relu(a) y = Conv(r, v, c) }", {"w": (8, 3, 3, 3), "b": (8,), "v": (4, 8, 3, 3), "c": (4,)}),
    "depthwise": ("g (float[1,3,8,8] x) => (float[1,4,4,4] y) { a = Conv(x, w, b) r = Relu(a) d = Conv<group=8>(r, u, e) y = Conv(d, v, c) }", {"w": (8, 3, 3, 3), "b": (8,), "u": (8, 1, 3, 3), "e": (8,), "v": (4, 8, 1, 1), "c": (4,)}),
    "pooled": ("g (float[1,3,8,8] x) => (float[1,4,2,2] y) { a = Conv(x, w) r = Relu(a) p = MaxPool<kernel_shape=[2,2],strides=[2,2]>(r) y = Conv(p, v) }", {"w": (8, 3, 3, 3), "v": (4, 8, 2, 2)}),
    "gemm": ("g (float[4,16] x) => (float[4,4] y) { a = Gemm<transB=1>(x, w, b) r = Relu(a) y = Gemm(r, v, c) }", {"w": (8, 16), "b": (8,), "v": (8, 4), "c": (4,)}),
}  # fmt: skip


def net(name: str) -> tuple[Model, dict[str, Any]]:
    text, shapes = NETS[name]
    weights = {n: f32(*s) for n, s in shapes.items()}
    spread = outliers(8, 2, 500.0)
    weights["w"] *= spread.reshape(-1, *(1,) * (weights["w"].ndim - 1))
    if "b" in weights:
        weights["b"] *= spread
    model = build(text, **weights)
    shape = [d for d in model.inputs[0].shape or () if isinstance(d, int)]
    return model, {"x": f32(*shape)}


@pytest.mark.parametrize("name", NETS)
def test_equalization_keeps_the_function_and_evens_the_channels(name: str) -> None:
    model, given = net(name)
    want = Session(model).run(given)["y"]
    work = model.copy()
    assert [f.code for f in equalize(work)] == ["Q051"]
    assert sqnr_db(want, Session(work).run(given)["y"]) > EXACT_DB
    first = work.graph.nodes[0].inputs[1].values
    reach = np.abs(first).reshape(8, -1).max(1)
    assert reach.max() / reach.min() < 50


@pytest.mark.parametrize("name", NETS)
def test_equalization_repairs_a_channel_that_reaches_far(name: str) -> None:
    model, given = net(name)
    data = [given, *({"x": f32(*given["x"].shape)} for _ in range(3))]
    plain = quantize(model, data=data, preset="full").report.outputs[0].sqnr_db
    repaired = quantize(model, data=data, preset="full", repairs=["equalize"]).report.outputs[0].sqnr_db
    assert repaired > 25.0
    assert repaired > plain - 3


def test_equalization_leaves_what_it_cannot_move_alone() -> None:
    text = "g (float[4,16] x) => (float[4,8] a, float[4,4] y) { a = MatMul(x, w) r = Sigmoid(a) y = MatMul(r, v) }"
    model = build(text, w=f32(16, 8), v=f32(8, 4))
    assert equalize(model) == []


@pytest.mark.parametrize("norm", [True, False])
def test_smoothing_moves_an_outlier_channel_into_the_weight(norm: bool) -> None:
    spread = outliers(32, 5, 300.0)
    before = "n = LayerNormalization(x, g, b)" if norm else "n = Mul(x, g)"
    weights = {"g": spread, "w": (f32(32, 16) / spread[:, None]).astype(np.float32), "v": (f32(32, 16) / spread[:, None]).astype(np.float32)}  # fmt: skip
    if norm:
        weights["b"] = f32(32)
    model = build(
        f"g (float[8,32] x) => (float[8,16] y, float[8,16] z) {{ {before} y = MatMul(n, w) z = MatMul(n, v) }}",
        **weights,
    )
    data = [{"x": f32(8, 32)} for _ in range(4)]
    plain = quantize(model, data=data, preset="full").report
    result = quantize(model, data=data, preset="full", repairs=["smooth"])
    assert plain.of("Q011")
    assert result.report.outputs[0].sqnr_db > 30.0
    assert result.report.outputs[0].sqnr_db > plain.outputs[0].sqnr_db + 6
    assert ("1 of them" in result.report.of("Q051")[0].message) is norm


def test_bias_correction_takes_the_drift_of_the_mean_out() -> None:
    model = build("g (float[64,128] x) => (float[64,16] y) { y = Gemm(x, w, b) }", w=f32(128, 16) * 0.02, b=f32(16))
    data = [{"x": np.abs(f32(64, 128)) + 5} for _ in range(4)]

    def drift(repairs: list[str]) -> float:
        result = quantize(model, data=data, preset="full", repairs=repairs, method="minmax")
        gaps = [np.asarray(Session(result.model).run(d)["y"]) - np.asarray(Session(model).run(d)["y"]) for d in data]
        return float(np.abs(np.mean(np.concatenate(gaps), 0)).mean())

    step = quantize(model, data=data, preset="full").report.tensors[0].scale
    assert drift(["bias"]) < step


def test_a_repair_that_does_not_exist_names_those_that_do() -> None:
    with pytest.raises(OptionError, match="equalise"):
        quantize(net("gemm")[0], data=[net("gemm")[1]], repairs=["equalise"])


def test_saved_ranges_give_the_same_model_without_measuring(tmp_path: Any) -> None:
    model, given = net("conv-relu-conv")
    first = quantize(model, data=[given], preset="full", method="minmax")
    save_ranges(first.report, tmp_path / "ranges.json")
    other = [{"x": 100 * given["x"]}]
    again = quantize(model, data=other, preset="full", method="minmax", ranges=tmp_path / "ranges.json")
    assert [(t.name, t.scale, t.zero_point) for t in again.report.tensors] == [
        (t.name, t.scale, t.zero_point) for t in first.report.tensors
    ]
    assert {t.samples for t in again.report.tensors} == {0}


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"ranges": {"x": [1, 0]}}', '{"ranges": {"x": [0, "a"]}}', '{"kind": "other", "ranges": {}}', '{"ranges": {"x": [0, null]}}'],
)  # fmt: skip
def test_a_file_that_is_no_ranges_is_an_error_that_names_it(tmp_path: Any, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(OptionError) as caught:
        load_ranges(path)
    assert caught.value.where == str(path)
