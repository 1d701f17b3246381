"""Convs that read one value become one, with the activation behind them, whether that is one node or a gate and a product."""

from __future__ import annotations

from collections import Counter

import pytest

from exec.ir import load
from passes.optimize import optimize
from passes.selftest import model_of

HEAD = "g (float[1,3,4,4] x) => (float[1,2,4,4] y, float[1,4,4,4] z) <float[2,3,1,1] v, float[4,3,1,1] w, float[4] b>"


def ops_after(body: str, opset: int = 11) -> Counter[str]:
    model = optimize(load(model_of(f"{HEAD} {{ {body} }}", opset))).model
    return Counter(node.op for node in model.graph.nodes)


@pytest.mark.parametrize("gate", ["Sigmoid", "HardSigmoid <alpha = 0.3>"])
def test_a_conv_times_its_own_gate_counts_as_one_activation(gate: str) -> None:
    name = gate.split(maxsplit=1)[0]
    body = f"a = Conv (x, v)  p = {gate} (a)  y = Mul (a, p)  c = Conv (x, w, b)  q = {gate} (c)  z = Mul (q, c)"
    assert ops_after(body) == {"Conv": 1, name: 1, "Mul": 1, "Split": 1}


@pytest.mark.parametrize(
    ("why", "body"),
    [
        ("other gates", "a = Conv (x, v)  p = Sigmoid (a)  y = Mul (a, p)  c = Conv (x, w)  q = HardSigmoid (c)  z = Mul (q, c)"),
        ("gates of other slopes", "a = Conv (x, v)  p = HardSigmoid <alpha = 0.3> (a)  y = Mul (a, p)  c = Conv (x, w)  q = HardSigmoid (c)  z = Mul (q, c)"),
        ("one is a gate alone", "a = Conv (x, v)  p = Sigmoid (a)  y = Mul (a, p)  c = Conv (x, w)  z = Sigmoid (c)"),
        ("other strides", "a = Conv (x, v)  p = Sigmoid (a)  y = Mul (a, p)  c = Conv <kernel_shape = [1, 1], pads = [0, 0, 0, 0], auto_pad = \"VALID\"> (x, w)  q = Sigmoid (c)  z = Mul (q, c)"),
    ],
)  # fmt: skip
def test_branches_that_differ_stay_apart(why: str, body: str) -> None:
    assert ops_after(body)["Conv"] == 2, why


def test_a_conv_that_is_read_behind_the_gate_stays_apart() -> None:
    body = "a = Conv (x, v)  p = Sigmoid (a)  m = Mul (a, p)  y = Add (m, a)  c = Conv (x, w)  q = Sigmoid (c)  z = Mul (q, c)"
    assert ops_after(body)["Conv"] == 2


def test_a_gate_that_is_read_elsewhere_keeps_its_conv() -> None:
    body = "a = Conv (x, v)  p = Sigmoid (a)  m = Mul (a, p)  y = Add (m, p)  c = Conv (x, w)  q = Sigmoid (c)  z = Mul (q, c)"
    assert ops_after(body)["Conv"] == 2


PAIR = "a = Conv <pads = [{p}, {p}, {p}, {p}]> (x, v)  y = Relu (a)  b = Conv <pads = [{p}, {p}, {p}, {p}]> (x, w)  z = Relu (b)"


def test_windows_wider_than_one_position_stay_apart_and_the_report_says_why() -> None:
    wide = HEAD.replace("2,3,1,1", "2,3,3,3").replace("4,3,1,1", "4,3,3,3")
    report = optimize(load(model_of(f"{wide} {{ {PAIR.format(p=1)} }}", 11))).report
    assert report.after.by_op["Conv"] == 2
    assert any(r.rule == "fuse-parallel-convs" and "3×3" in r.reason for r in report.refused)


def test_for_onnxruntime_they_stay_apart_and_the_report_says_why() -> None:
    model = load(model_of(f"{HEAD} {{ {PAIR.format(p=0)} }}", 11))
    assert optimize(model).report.after.by_op["Conv"] == 1
    report = optimize(model, target="onnxruntime").report
    assert report.after.by_op["Conv"] == 2
    assert any(r.rule == "fuse-parallel-convs" and "onnxruntime" in r.reason for r in report.refused)
