"""Sensitivity and targets: the best mix is found, kept, and honest about samples it was not searched on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper, parser

from exec.errors import Cancelled, OptionError
from quantize.search import Target
from quantize.sensitivity import sensitivity
from workbench import Model, Session, load, quantize
from workbench.samples import sample

R = np.random.default_rng(3)
HALF_A_POINT = 0.005


def f32(*shape: int) -> Any:
    return R.standard_normal(shape).astype(np.float32)


def build(text: str, **weights: Any) -> Model:
    proto = parser.parse_model(f'<ir_version: 9, opset_import: ["" : 17]> {text}')
    proto.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items())
    return load(proto)


def uneven() -> tuple[Model, list[dict[str, Any]]]:
    """Three products; what the second reads has one channel a thousand times the others, and its weight undoes it."""
    spread = np.ones(64, np.float32)
    spread[3] = 1000
    middle = f32(64, 64) / 8
    text = """g (float[N,64] x) => (float[N,8] y) {
        a = MatMul(x, w1)  b = Add(a, zero)  s = Sin(b)  m = Mul(s, spread)  t = Abs(m)  c = MatMul(t, w2)  d = Sin(c)  y = MatMul(d, w3)
    }"""
    model = build(
        text, w1=f32(64, 64) / 8, zero=f32(64), spread=spread, w2=(middle / spread[:, None]).astype(np.float32), w3=f32(64, 8)
    )  # fmt: skip
    return model, [{"x": f32(16, 64)} for _ in range(12)]


def digits() -> tuple[list[dict[str, Any]], Any, Any]:
    with np.load(sample("digits.npz")) as data:
        return (
            [{"image": i[None]} for i in data["calibration_images"][:64]],
            data["heldout_images"],
            data["heldout_labels"],
        )


def accuracy(model: Model, images: Any, labels: Any) -> float:
    logits = next(iter(Session(model).run({model.inputs[0].name: images}).values()))
    return float((np.asarray(logits).argmax(1) == labels).mean())


def test_the_node_behind_an_outlier_channel_is_the_most_sensitive() -> None:
    model, data = uneven()
    found = sensitivity(model, data, preset="full")
    assert len(found.nodes) == 3
    assert found.nodes[0].sqnr_db < found.nodes[1].sqnr_db - 10
    assert found.all_db <= found.nodes[0].sqnr_db + 1
    names = {n.name: n.op for n in quantize(model, data=data, preset="full").report.nodes}
    assert found.nodes[0].name in names


def test_a_target_in_db_leaves_the_sensitive_node_float() -> None:
    model, data = uneven()
    worst = sensitivity(model, data, preset="full").nodes[0].name
    plain = quantize(model, data=data, preset="full").report
    result = quantize(model, data=data, preset="full", target=25.0)
    assert plain.outputs[0].sqnr_db < 25.0 <= result.report.outputs[0].sqnr_db
    assert worst not in {n.name for n in result.report.nodes}
    assert result.report.nodes
    assert any(p.met for p in result.report.search)


def test_a_target_out_of_reach_keeps_the_best_and_says_so() -> None:
    model, data = uneven()
    report = quantize(model, data=data, preset="full", target=90.0).report
    assert report.of("Q041")
    assert report.search
    assert report.outputs[0].sqnr_db >= max(p.db for p in report.search) - 6


def test_the_fragile_sample_keeps_its_held_out_accuracy_by_auto() -> None:
    data, images, labels = digits()
    model = load(sample("digits_fragile.onnx"))
    float_accuracy = accuracy(model, images, labels)
    ruined = quantize(model, data=data, preset="full").model
    assert accuracy(ruined, images, labels) < 0.5
    result = quantize(model, data=data, preset="full", target=20.0)
    assert float_accuracy - accuracy(result.model, images, labels) <= HALF_A_POINT
    assert len(result.report.nodes) == 4
    assert result.report.of("Q051")


def test_a_metric_is_a_target() -> None:
    data, images, labels = digits()
    model = load(sample("digits_fragile.onnx"))
    with np.load(sample("digits.npz")) as held:
        searched, known = held["calibration_images"], held["calibration_labels"]
    result = quantize(model, data=data, preset="full", target=lambda m: accuracy(m, searched, known))
    assert all(p.metric is not None for p in result.report.search)
    assert accuracy(model, images, labels) - accuracy(result.model, images, labels) <= HALF_A_POINT


def test_a_latency_is_a_target_that_is_measured() -> None:
    model, data = uneven()
    report = quantize(model, data=data, preset="full", target=Target(latency=1e9)).report
    assert all(p.latency is not None and p.latency > 0 for p in report.search)
    assert not report.of("Q041")
    assert report.outputs[0].sqnr_db > 25.0


def test_time_that_is_up_returns_what_was_found() -> None:
    model, data = uneven()
    report = quantize(model, data=data, preset="full", target=Target(db=90.0, seconds=1e-6)).report
    assert report.of("Q042")
    assert len(report.search) == 1


def test_cancel_before_anything_was_found_stops() -> None:
    model, data = uneven()
    with pytest.raises(Cancelled):
        quantize(model, data=data, preset="full", target=25.0, cancel=lambda: True)


@pytest.mark.parametrize("target", [Target(db=60.0), Target(latency=1e-9), Target(db=20.0)])
def test_the_preset_is_a_point_of_the_front_and_nothing_that_loses_to_it_is_the_result(target: Target) -> None:
    model, data = uneven()
    plain = quantize(model, data=data, preset="full").report
    report = quantize(model, data=data, preset="full", target=target).report
    first = report.search[0]
    assert set(first.nodes) == {n.name for n in plain.nodes}
    taken = tuple(sorted(n.name for n in report.nodes))
    found = next(p for p in report.search if p.nodes == taken)
    assert found == first or found.db > first.db or (found.latency or 0.0) < (first.latency or 0.0)


def test_progress_tells_what_is_tried() -> None:
    model, data = uneven()
    said: list[str] = []
    quantize(model, data=data, preset="full", target=25.0, progress=lambda done, total, text: said.append(text))
    assert any("nodes in 8 bits" in text for text in said)


@pytest.mark.parametrize("target", ["20", True, Target(), Target(db=1.0, latency=0.5)])
def test_a_target_that_names_nothing_or_two_things_is_an_error(target: Any) -> None:
    model, data = uneven()
    with pytest.raises(OptionError):
        quantize(model, data=data, target=target)


def steered() -> tuple[Model, list[dict[str, Any]]]:
    """A convolution whose values decide how many rows the product behind NonZero has, and a Loop around another."""
    text = """g (float[1,16,8,8] x) => (float y, float[1,16,8,8] z) {
        c = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(x, w1)  r = Relu(c)  found = NonZero(r)  at = Transpose<perm=[1,0]>(found)
        picked = GatherND(r, at)  last = Constant<value_ints=[-1]>()  rows = Unsqueeze(picked, last)
        m = MatMul(rows, w2)  n = MatMul(m, w3)  y = ReduceMean<keepdims=0>(n)
        d = Conv<kernel_shape=[1,1]>(r, w4)  times = Constant<value_int=3>()  one = Constant<value_int=1>()  go = Cast<to=9>(one)
        z = Loop<body = b (int64 i, bool in, float[1,16,8,8] s) => (bool out, float[1,16,8,8] t) {
            out = Identity(in)  q = Conv<kernel_shape=[1,1]>(s, w4)  t = Tanh(q) }>(times, go, d)
    }"""
    model = build(text, w1=f32(16, 16, 3, 3) / 12, w2=f32(1, 32), w3=f32(32, 32) / 6, w4=f32(16, 16, 1, 1) / 4)
    return model, [{"x": f32(1, 16, 8, 8)} for _ in range(12)]


def test_shapes_that_hang_on_data_and_loops_are_ranked_and_searched() -> None:
    model, data = steered()
    ranking = sensitivity(model, data, preset="full", by="both")
    assert {n.op for n in ranking.nodes} == {"Conv", "MatMul"}
    assert {t.op for t in ranking.tensors} >= {"Relu", "Conv", "MatMul"}
    assert all(np.isfinite(row.sqnr_db) for row in (*ranking.nodes, *ranking.tensors))
    result = quantize(model, data=data, preset="full", target=45.0)
    assert len(result.report.search) > 1
    assert max(p.db for p in result.report.search) >= 45.0
    assert result.report.of("Q070")
    got = Session(result.model).run(data[0])
    assert got["z"].shape == (1, 16, 8, 8)
