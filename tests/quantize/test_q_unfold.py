"""A convolution along one axis becomes a product of shifted copies, for any length, and quantizes without rounding its output."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from exec.ir import toposort
from exec.metrics import sqnr_db
from quantize.observing import Runner
from quantize.samples import samples_of
from quantize.unfold import unfold
from workbench import Model, Session, load, quantize

R = np.random.default_rng(6)
EXACT_DB = 110.0  # the same sums in another order

LINE = "g (float[N,64,L] x) => (float[N,96,M] y) { a = Conv<OPTIONS>(x, w, b) y = Tanh(a) }"
COLUMN = "g (float[N,64,L,1] x) => (float[N,96,M,1] y) { a = Conv<OPTIONS>(x, w, b) y = Tanh(a) }"
CASES = {
    "line": (LINE, (96, 64, 5), (2, 64, 300)),
    "column": (COLUMN, (96, 64, 3, 1), (1, 64, 200, 1)),
    "row": (COLUMN.replace("L,1]", "1,L]").replace("M,1]", "1,M]"), (96, 64, 1, 4), (1, 64, 1, 200)),
}


def f32(*shape: int) -> Any:
    return R.standard_normal(shape).astype(np.float32)


def build(name: str, options: str = "group=1") -> tuple[Model, dict[str, Any]]:
    text, weight, shape = CASES[name]
    proto = parser.parse_model(f'<ir_version: 9, opset_import: ["" : 17]> {text.replace("OPTIONS", options)}')
    weights = {"w": f32(*weight) / 20, "b": f32(96)}
    proto.graph.initializer.extend(numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items())
    return load(proto), {"x": f32(*shape)}


def unfolded(model: Model, given: dict[str, Any]) -> tuple[Model, int]:
    work = model.copy()
    count = len(unfold(work.graph, Runner(work, samples_of(work, [given])).shapes()))
    toposort(work.graph)
    return work, count


@pytest.mark.parametrize("name", CASES)
def test_the_function_stays_the_same_at_every_length(name: str) -> None:
    model, given = build(name)
    work, count = unfolded(model, given)
    assert count == 1
    axis = int(np.argmax(given["x"].shape[2:])) + 2
    for length in (given["x"].shape[axis], 41, 7):
        x = np.take(given["x"], range(length), axis)
        assert sqnr_db(Session(model).run({"x": x})["y"], Session(work).run({"x": x})["y"]) > EXACT_DB


@pytest.mark.parametrize("options", ["pads=[1,1]", "strides=[2]", "dilations=[2]"])
def test_what_is_more_than_shifted_copies_stays_a_convolution(options: str) -> None:
    model, given = build("line", options)
    assert unfolded(model, given)[1] == 0


def test_its_input_is_quantized_once_before_it_is_copied() -> None:
    ort = pytest.importorskip("onnxruntime")
    _, weight, shape = CASES["line"]
    model, _ = build("line")
    proto = model.to_proto()
    negated = parser.parse_graph("g (float[N,64,L] z) => (float[N,64,L] x) { x = Sin(z) }")
    proto.graph.node.insert(0, negated.node[0])
    proto.graph.input[0].name = "z"
    data = [{"z": f32(*shape)} for _ in range(3)]
    result = quantize(load(proto), data=data)
    written = result.model.to_proto()
    onnx.checker.check_model(written)
    ops = {n.name: n for n in written.graph.node}
    first = next(n for n in ops.values() if n.op_type == "QuantizeLinear")
    assert first.input[0].startswith("x")
    got = ort.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, data[0])[0]
    assert sqnr_db(Session(load(proto)).run(data[0])["y"], got) > 35.0
    assert result.report.of("Q025")
    assert weight[2] == sum(n.op_type == "Slice" for n in ops.values())
