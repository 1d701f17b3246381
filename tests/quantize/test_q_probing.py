"""What values cost: rounded where they lie, as QuantizeLinear and DequantizeLinear in the graph would round them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

from exec.errors import OptionError
from quantize.estimate import TRIED, Estimate, listen
from quantize.prepare import prepared
from quantize.probing import Prober, groups_of, leader_of, ranked_values, values_of
from quantize.quality import Judge, decibels
from quantize.samples import samples_of
from quantize.sensitivity import sensitivity
from quantize.static import Measured, Options, measure
from workbench import Model, load

R = np.random.default_rng(8)


def f32(*shape: int) -> Any:
    return R.standard_normal(shape).astype(np.float32)


def gated() -> tuple[Model, list[dict[str, Any]]]:
    """Convolutions with x·Sigmoid(x) behind the first, pieces that are moved, a sum."""
    text = """<ir_version: 9, opset_import: ["" : 21]> g (float[1,16,8,8] x) => (float[1,8,8,8] y) {
        c = Conv<kernel_shape=[1,1]>(x, w1)  s = Sigmoid(c)  m = Mul(c, s)  a, b = Split<axis=1>(m, sizes)
        d = Conv<kernel_shape=[3,3], pads=[1,1,1,1]>(a, w2)  e = Add(d, b)  y = Conv<kernel_shape=[1,1]>(e, w3)
    }"""
    proto = parser.parse_model(text)
    weights = {
        "w1": f32(32, 16, 1, 1) / 4,
        "w2": f32(16, 16, 3, 3) / 12,
        "w3": f32(8, 16, 1, 1) / 4,
        "sizes": np.array([16, 16]),
    }
    proto.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in weights.items())
    return load(proto), [{"x": f32(1, 16, 8, 8)} for _ in range(4)]


def measured_of(model: Model, data: list[dict[str, Any]]) -> tuple[Measured, Judge]:
    options = Options(preset="full")
    work = prepared(model, None, options, [], None, None)
    measured = measure(work, samples_of(work, data), options, every=True)
    return measured, Judge.of(work, data, logits=True, at_once=True)


def rounded_in_graph(model: Model, name: str, low: float, high: float) -> ModelProto:
    """The model with Q and DQ behind one value, all its readers behind them; an asymmetric range of u8 that holds 0."""
    proto = model.to_proto()
    scale = np.float32((max(high, 0.0) - min(low, 0.0)) / 255)
    zero = np.uint8(np.clip(np.rint(-min(low, 0.0) / scale), 0, 255))
    proto.graph.initializer.extend([numpy_helper.from_array(scale, "s_"), numpy_helper.from_array(zero, "z_")])
    pair = [helper.make_node("QuantizeLinear", [name, "s_", "z_"], ["q_"]), helper.make_node("DequantizeLinear", ["q_", "s_", "z_"], ["dq_"])]  # fmt: skip
    nodes = list(proto.graph.node)
    for node in nodes:
        for k, read in enumerate(node.input):
            if read == name:
                node.input[k] = "dq_"
    at = next((k + 1 for k, n in enumerate(nodes) if name in n.output), 0)
    del proto.graph.node[:]
    proto.graph.node.extend([*nodes[:at], *pair, *nodes[at:]])
    return proto


def test_each_value_costs_what_conversions_behind_it_cost() -> None:
    model, data = gated()
    measured, judge = measured_of(model, data)
    rows = ranked_values(measured, judge)
    assert {r.name for r in rows} >= {"x", "c", "m", "e"}
    assert [r.sqnr_db for r in rows] == sorted(r.sqnr_db for r in rows)
    for row in rows:
        if row.name == "y":  # an output has no reader
            continue
        proto = rounded_in_graph(measured.model, row.name, row.low, row.high)
        evaluator = ReferenceEvaluator(proto)
        pairs = [(e["y"], evaluator.run(None, s)[0]) for e, s in zip(judge.expected, data, strict=True)]
        signal = sum(float(np.square(w, dtype=np.float64).sum()) for w, _ in pairs)
        noise = sum(float(np.square(w - g, dtype=np.float64).sum()) for w, g in pairs)
        assert row.sqnr_db == pytest.approx(decibels(signal, noise), abs=0.1), row.name


def test_a_run_after_a_probe_is_as_before() -> None:
    model, data = gated()
    measured, judge = measured_of(model, data)
    assert ranked_values(measured, judge) == ranked_values(measured, judge)


def test_a_gate_is_one_group_and_a_sum_is_not() -> None:
    model, data = gated()
    measured, _ = measured_of(model, data)
    groups = groups_of(measured)
    gate = next(values for values in groups.values() if "m" in values)
    assert {"c", "m"} <= gate.keys()
    assert "e" not in gate
    assert all(n in values for n, values in groups.items())
    values = values_of(measured, measured.chosen.possible)
    assert leader_of(values["m"], values) == "c"


def test_noises_of_values_and_weights_add_up_to_about_that_of_the_whole() -> None:
    model, data = gated()
    measured, judge = measured_of(model, data)
    estimate = Estimate(measured)
    listen(estimate, judge, float("inf"))
    noise, _ = estimate.of(c.node.name for c in measured.chosen.possible)
    found = sensitivity(model, data, preset="full", by="both")
    assert -10 * np.log10(noise) == pytest.approx(found.all_db, abs=3.0)
    none, _ = estimate.of(())
    assert none == 0.0


def test_a_ranking_by_something_else_is_refused() -> None:
    model, data = gated()
    with pytest.raises(OptionError, match="by 'tensors'"):
        sensitivity(model, data, by="tensors")


def test_where_time_is_short_each_value_is_heard_on_fewer_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, judge = measured_of(*gated())
    heard: list[int] = []
    outputs = Prober.outputs

    def counted(self: Prober, changes: Any) -> Any:
        heard.append(len(self.judge.samples))
        return outputs(self, changes)

    monkeypatch.setattr(Prober, "outputs", counted)
    clock = iter(range(1000))
    monkeypatch.setattr("quantize.estimate.perf_counter", lambda: float(next(clock)))
    groups = len(groups_of(measured))
    assert groups > TRIED
    listen(Estimate(measured), judge, groups)
    assert heard == [len(judge.samples)] * TRIED + [1] * (groups - TRIED)
