"""Which nodes the balanced preset takes: by their work, and by the conversions that are left around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import numpy_helper, parser

from quantize.report import QuantizeReport
from workbench import load, quantize

R = np.random.default_rng(21)
BODY = "a = Conv<pads=[1,1,1,1]>(x, w) r = Relu(a) {middle} y = Conv<pads=[1,1,1,1]>(m, v)"


def f32(*shape: int) -> Any:
    return R.standard_normal(shape).astype(np.float32)


def report_of(middle: str, **weights: Any) -> QuantizeReport:
    text = f"g (float[1,64,12,12] x) => (float[1,64,12,12] y) {{ {BODY.format(middle=middle)} }}"
    proto = parser.parse_model(f'<ir_version: 9, opset_import: ["" : 17]> {text}')
    given = {"w": f32(64, 64, 3, 3), "v": f32(64, 64, 3, 3), **weights}
    proto.graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in given.items())
    for node in proto.graph.node:
        node.name = node.output[0]
    return quantize(load(proto), data=[{"x": f32(1, 64, 12, 12)}]).report


def test_a_product_of_little_work_between_integers_is_taken() -> None:
    report = report_of("n = Conv(r, u) m = Relu(n)", u=f32(64, 64, 1, 1))
    assert [n.name for n in report.nodes] == ["a", "n", "y"]
    assert report.nodes[1].intensity < 64


def test_behind_a_float_operator_it_is_not() -> None:
    report = report_of("e = Exp(r) n = Conv(e, u) m = Tanh(n)", u=f32(64, 64, 1, 1))
    assert [n.name for n in report.nodes] == ["a", "y"]
    assert [f.node for f in report.of("Q003")] == ["n"]


@pytest.mark.parametrize("sides", ["n, r", "r, n"])
def test_one_side_of_a_residual_sum_stays_float(sides: str) -> None:
    report = report_of(f"n = Conv(r, u) m = Add({sides})", u=f32(64, 64, 1, 1))
    assert [n.name for n in report.nodes] == ["a", "y"]


def test_a_concat_of_integers_is_one() -> None:
    text = "p = MaxPool<kernel_shape=[3,3],pads=[1,1,1,1]>(r) c = Concat<axis=1>(r, p) m = Conv(c, u)"
    report = report_of(text, u=f32(64, 128, 1, 1))
    assert "c" in {t.name for t in report.tensors}
