"""Models that are right and unusual: they come out valid, equal, with the same interface, and no rewrite has to be undone."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from exec.ir import load
from exec.metrics import difference
from exec.session import Session
from passes.invariants import check_model
from passes.optimize import optimize
from passes.selftest import model_of

TEXTS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "an initializer is an output, too": (
        "g (float[4] x) => (float[4] y, float[4] w) <float[4] w = {1, 2, 3, 4}, float[4] zero = {0, 0, 0, 0}> { a = Add (x, zero)  b = Mul (w, w)  y = Mul (a, b) }",
        17,
        {"x": np.arange(4, dtype=np.float32)},
    ),
    "an output stands twice": (
        "g (float[4] x) => (float[4] y, float[4] z) { a = Identity (x)  b = Relu (a)  y = Identity (b)  z = Identity (b) }",
        17,
        {"x": np.float32([-1, 0, 1, 2])},
    ),
    "an input is handed out": (
        "g (float[4] x) => (float[4] y, float[4] z) { y = Identity (x)  z = Neg (x) }",
        17,
        {"x": np.float32([-1, 0, 1, 2])},
    ),
    "an input is read by nobody": (
        "g (float[4] x, float[9] spare) => (float[4] y) { a = Identity (x)  y = Neg (a) }",
        17,
        {"x": np.float32([-1, 0, 1, 2]), "spare": np.zeros(9, np.float32)},
    ),
    "optional inputs are left out": (
        """g (float[1,1,4,4] x) => (float[1,1,8,8] y) <float[4] s = {1, 1, 2, 2}, float hi = {0.5}>
            { a = Clip (x, , hi)  b = Identity (a)  y = Resize <mode = "nearest"> (b, , s) }""",
        17,
        {"x": np.linspace(-1, 1, 16, dtype=np.float32).reshape(1, 1, 4, 4)},
    ),
    "sizes of zero": (
        "g (float[N,4] x, float[0,4] none) => (float[M,4] y) { a = Concat <axis = 0> (x, none)  b = Identity (a)  y = Relu (b) }",
        17,
        {"x": np.ones((2, 4), np.float32), "none": np.ones((0, 4), np.float32)},
    ),
    "a sum over nothing": (
        "g (float[0,4] x) => (float[4] y) <int64[1] ax = {0}> { a = Identity (x)  y = ReduceSum <keepdims = 0> (a, ax) }",
        17,
        {"x": np.ones((0, 4), np.float32)},
    ),
    "an old opset broadcasts by attributes": (
        "g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2] k = {1, 2}> { a = Add <broadcast = 1, axis = 1> (x, k)  b = Identity (a)  y = Relu (b) }",
        6,
        {"x": np.ones((1, 2, 3, 3), np.float32)},
    ),
    "names are shadowed in branches": (
        """g (float[4] x, bool c) => (float[4] y) { s = Neg (x)  y = If (c) <
            then_branch = t () => (float[4] p) { q = Exp (s)  p = Identity (q) },
            else_branch = e () => (float[4] p2) { q2 = Abs (s)  r = Identity (q2)  p2 = Neg (r) } > }""",
        17,
        {"x": np.float32([-1, 0, 1, 2]), "c": np.array(True)},
    ),
    "a loop captures and carries": (
        """g (float[4] x, int64 n) => (float[4] y) <bool go = {1}, float two = {2}> { w = Mul (x, two)  y = Loop (n, go, x) <
            body = b (int64 i, bool on, float[4] v) => (bool more, float[4] next) { more = Identity (on)  a = Add (v, w)  next = Identity (a) } > }""",
        17,
        {"x": np.float32([-1, 0, 1, 2]), "n": np.array(3)},
    ),
    "sequences": (
        """g (float[4] x) => (float[4] y) <int64 one = {1}> { n = Neg (x)  s = SequenceConstruct (x, n)  i = Identity (s)  e = SequenceAt (i, one)
            y = Identity (e) }""",
        17,
        {"x": np.float32([-1, 0, 1, 2])},
    ),
    "texts": (
        'g (string[2] x) => (string[2] y, bool[2] z) <string[2] k = {"a", "b"}> { a = Identity (x)  y = Identity (a)  z = Equal (a, k) }',
        19,
        {"x": np.array(["a", "ü"], object)},
    ),
    "a tensor of no axes": (
        "g (float x) => (float y) <float one = {1}> { a = Mul (x, one)  b = Neg (a)  y = Neg (b) }",
        17,
        {"x": np.float32(3)},
    ),
}  # fmt: skip


def interface(model: onnx.ModelProto) -> Any:
    return [[(v.name, v.type.SerializeToString()) for v in side] for side in (model.graph.input, model.graph.output)]


def same(proto: onnx.ModelProto, feeds: dict[str, Any]) -> onnx.ModelProto:
    result = optimize(load(proto))
    assert not result.report.undone
    check_model(result.model)
    after: onnx.ModelProto = result.model.to_proto()
    onnx.checker.check_model(after)
    assert interface(after) == interface(proto)
    want, got = Session(load(proto)).run(feeds), Session(load(after)).run(feeds)
    for name, value in want.items():
        assert difference(value, got[name]).within(1e-6), name
    return after


@pytest.mark.parametrize("case", TEXTS)
def test_what_is_unusual_stays_equal(case: str) -> None:
    text, opset, feeds = TEXTS[case]
    same(model_of(text, opset), feeds)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16, np.float64])
def test_other_floats_are_folded_in_their_own_type(dtype: Any) -> None:
    info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [2, 2]) for n in "xy"]
    half = numpy_helper.from_array(np.full((2, 2), 0.5, dtype), "half")
    nodes = [("Mul", ["half", "half"], "q"), ("Add", ["x", "q"], "a"), ("Identity", ["a"], "b"), ("Neg", ["b"], "y")]
    graph = helper.make_graph([helper.make_node(op, i, [o]) for op, i, o in nodes], "g", info[:1], info[1:], [half])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    after = same(proto, {"x": np.ones((2, 2), dtype)})
    assert len(after.graph.node) == 2


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_eight_bit_floats_keep_their_casts(dtype: Any) -> None:
    code = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [8]) for n in "xy")
    nodes = [
        helper.make_node("Identity", ["x"], ["i"]),
        helper.make_node("Cast", ["i"], ["a"], to=code),
        helper.make_node("Cast", ["a"], ["y"], to=1),
    ]
    proto = helper.make_model(
        helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 19)], ir_version=10
    )
    after = same(proto, {"x": np.linspace(-3.3, 500, 8, dtype=np.float32)})
    assert [n.op_type for n in after.graph.node] == ["Cast", "Cast"]


def test_functions_of_the_model_are_inlined_right() -> None:
    text = """<ir_version: 10, opset_import: ["": 17, "own": 1]> g (float[4] x) => (float[4] y) { a = own.twice (x)  y = own.twice (a) }
        <domain: "own", opset_import: ["": 17]> twice (v) => (w) { t = Identity (v)  w = Add (t, v) }"""
    after = same(onnx.parser.parse_model(" ".join(text.split())), {"x": np.float32([-1, 0, 1, 2])})
    assert all(n.domain == "" for n in after.graph.node)


def test_a_call_with_more_outputs_than_its_function_stays_and_says_why() -> None:
    text = """<ir_version: 10, opset_import: ["": 17, "own": 1]> g (float[4] x) => (float[4] y) { y = own.f (x) }
        <domain: "own", opset_import: ["": 17]> f (v) => () { w = Neg (v) }"""
    done = optimize(load(onnx.parser.parse_model(" ".join(text.split())), strict=False), verify=False)
    assert [n.op for n in done.model.graph.nodes] == ["f"]
    assert "the call has 1 outputs, f has 0" in [r.reason for r in done.report.refused]


def test_changes_behind_an_operator_that_nobody_knows_are_verified_as_those_before_it() -> None:
    text = """<ir_version: 10, opset_import: ["": 17, "acme": 1]> g (float[4] x) => (float[4] y) {
        a = Identity (x)  b = acme.Swirl (a)  c = Neg (b)  d = Neg (c)  y = Exp (d) }"""
    report = optimize(load(onnx.parser.parse_model(" ".join(text.split())))).report
    assert sorted(a.rule for a in report.applied) == ["eliminate-identity", "eliminate-involution"]
    assert (report.verification.regions, report.verification.of) == (2, 2)


def test_a_sparse_initializer_stays_what_it_is() -> None:
    proto = model_of("g (float[3,4] x) => (float[3,2] y) { a = Identity (x)  y = MatMul (a, w) }", 17)
    values = numpy_helper.from_array(np.float32([2, 3]), "w")
    indices = numpy_helper.from_array(np.int64([1, 6]), "w_indices")
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4, 2]))
    after = same(proto, {"x": np.arange(12, dtype=np.float32).reshape(3, 4)})
    assert len(after.graph.node) == 1


def test_training_info_is_kept() -> None:
    proto = model_of("g (float[4] x) => (float[4] y) { a = Identity (x)  y = Neg (a) }", 17)
    info = proto.training_info.add()
    info.initialization.CopyFrom(
        helper.make_graph([], "start", [], [], [numpy_helper.from_array(np.float32([1]), "s")])
    )
    info.algorithm.CopyFrom(helper.make_graph([], "step", [], []))
    after = optimize(load(proto), verify=False).model.to_proto()
    assert after.training_info[0] == proto.training_info[0]
    assert len(after.graph.node) == 1
