"""Running a model stretch by stretch: the same values as at once, whatever lies at the borders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from exec.metrics import sqnr_db
from exec.session import Session
from quantize import parts
from quantize.observing import KERNELS
from workbench import Model, load, quantize

R = np.random.default_rng(31)
SAMPLES = Path(__file__).resolve().parents[2] / "samples"
ROUNDING_DB = 100.0  # float32 in another order of sums keeps more


def build(text: str, **weights: Any) -> Model:
    proto = parser.parse_model(f'<ir_version: 9, opset_import: ["" : 17]> {text}')
    proto.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items())
    return load(proto)


def f32(*shape: int) -> Any:
    return R.standard_normal(shape).astype(np.float32)


def same(model: Model, samples: list[dict[str, Any]], wanted: list[str]) -> None:
    session = Session(model, kernels=KERNELS)  # others round 8-bit values near a tie the other way
    for sample, got in zip(samples, parts.run(model, samples, wanted), strict=True):
        want = session.run(sample, wanted)
        assert list(got) == wanted
        for name in wanted:
            if want[name].dtype.kind == "f":
                assert sqnr_db(want[name], got[name]) > ROUNDING_DB
            np.testing.assert_array_equal(np.shape(want[name]), np.shape(got[name]))


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "STRETCH_BYTES", 2048)


LONG = [
    pytest.param(name, marks=pytest.mark.slow) for name in ("attention_ts", "attention_dynamo")
]  # seven seconds each


@pytest.mark.parametrize("name", ["cnn", "mobile", "fragile", *LONG])
@pytest.mark.parametrize("quantized", [False, True])
def test_stretches_give_what_the_whole_gives(name: str, quantized: bool) -> None:
    model = load(SAMPLES / f"digits_{name}.onnx")
    images = np.load(SAMPLES / "digits.npz")["heldout_images"]
    if quantized:
        model = quantize(model, data=images[:8], preset="full").model
    same(model, [{"image": images[:3]}, {"image": images[3:4]}], [o.name for o in model.graph.outputs])


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of nodes of each session that is opened."""
    opened: list[int] = []

    class Counting(Session):
        def __init__(self, model: Model, **options: Any) -> None:
            opened.append(len(model.graph.nodes))
            super().__init__(model, **options)

    monkeypatch.setattr(parts, "Session", Counting)
    return opened


def test_a_model_is_really_cut(sessions: list[int]) -> None:
    model = build(
        "g (float[4,64] x) => (float[4,64] y) { a = MatMul(x, w) r = Relu(a) b = MatMul(r, v) y = Add(b, x) }",
        w=f32(64, 64),
        v=f32(64, 64),
    )
    same(model, [{"x": f32(4, 64)}], ["y", "r"])
    assert sessions == [2, 2]


def test_weights_of_constant_nodes_count_as_weights(sessions: list[int]) -> None:
    nodes = [
        helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(f32(64, 64))),
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Constant", [], ["v"], value=numpy_helper.from_array(f32(64, 64))),
        helper.make_node("MatMul", ["a", "v"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, 64]) for n in "xy")
    proto = helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 17)])
    same(load(proto), [{"x": f32(4, 64)}], ["y"])
    assert len(sessions) == 2


def test_weights_made_of_constants_go_with_what_reads_them() -> None:
    text = "g (float[4,64] x) => (float[4,64] y, float[64,64] t) { h = Cast<to=1>(w) t = Transpose(h) a = MatMul(x, h) b = MatMul(a, v) c = MatMul(b, t) y = Add(c, x) }"
    same(build(text, w=f32(64, 64).astype(np.float16), v=f32(64, 64)), [{"x": f32(4, 64)}] * 2, ["y", "t", "b"])


@pytest.mark.parametrize("sizes", [(3, 3), (3, 5)])
def test_samples_may_differ_in_size(sizes: tuple[int, int]) -> None:
    model = build(
        "g (float[n,64] x) => (float[n,64] y) { a = MatMul(x, w) y = MatMul(a, v) }", w=f32(64, 64), v=f32(64, 64)
    )
    same(model, [{"x": f32(n, 64)} for n in sizes], ["y"])


def test_a_model_with_bodies_runs_at_once() -> None:
    model = load(SAMPLES / "digits_control.onnx")
    images = np.load(SAMPLES / "digits.npz")["heldout_images"]
    same(model, [{"image": images[:1], "steps": np.asarray(2)}], [o.name for o in model.graph.outputs])


def test_integers_sequences_and_inputs_passed_on_cross_the_borders() -> None:
    text = (
        "g (float[4,64] x, int64[2] k) => (float[4,64] y, float[2,64] z, float[4,64] x2) {"
        " a = MatMul(x, w) s = SequenceConstruct(a, x) i = Add(k, k) b = MatMul(a, v) z = Gather(b, i) zero = Constant<value_int=1>()"
        " y = SequenceAt(s, zero) x2 = Identity(x) }"
    )
    same(build(text, w=f32(64, 64), v=f32(64, 64)), [{"x": f32(4, 64), "k": np.array([0, 1])}], ["y", "z", "x2"])
