"""A conversion is run against the original: what is another function, type or size is told."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from exec.engines import open_engine
from exec.errors import FeedError, OptionError
from exec.feeds import make_feeds
from exec.ir import Constant, Model, load
from exec.session import Session
from passes.convert.batch import set_batch
from passes.convert.float16 import to_float16
from passes.convert.int32 import to_int32
from passes.convert.opset import convert_opset
from passes.convert.verified import ConversionVerifier
from passes.optimize import optimize
from passes.regional import RegionalVerifier
from passes.samples import RATE, Samples, effort
from passes.selftest import model_of
from passes.verify import VerifyBudget

NET = """ g (float[1,3,8,8] x) => (float[1,4] y) <float[4,3,3,3] w, float[4] b, float[144,4] fc, int64[2] s = {1, 144}> {
    c = Conv (x, w, b)  r = Relu (c)  f = Reshape (r, s)  m = MatMul (f, fc)  y = Softmax (m) } """

TIGHT = VerifyBudget(memory_bytes=16)


@pytest.fixture
def net() -> Model:
    return load(model_of(NET, 17))


def with_scaled_weight(model: Model, factor: float) -> Model:
    twin = model.copy()
    node = next(n for n in twin.graph.nodes if n.op == "MatMul")
    node.inputs[1] = Constant("scaled", node.inputs[1].values * np.float32(factor))
    return twin


@pytest.mark.parametrize("target", [9, 11, 13, 20, 23])
def test_an_opset_that_keeps_the_numbers_is_verified(net: Model, target: int) -> None:
    found = ConversionVerifier(net, convert_opset(net, target)).check()
    assert not found.problem
    assert found.verification.scope == "whole"
    assert found.verification.runs > 1


def test_another_function_is_no_conversion(net: Model) -> None:
    found = ConversionVerifier(net, with_scaled_weight(net, 1.05)).check()
    assert found.problem.startswith("output y differs by")


def test_float16_is_held_to_its_own_digits(net: Model) -> None:
    half = np.dtype(np.float16)
    assert not ConversionVerifier(net, to_float16(net).model, narrow=half).check().problem
    narrow = to_float16(net, keep_io=False).model
    assert not ConversionVerifier(net, narrow, narrow=half, interface=False).check().problem
    wrong = ConversionVerifier(net, to_float16(with_scaled_weight(net, 2)).model, narrow=half).check()
    assert "differs by" in wrong.problem


def test_numbers_beyond_float16_are_told() -> None:
    text = "g (float[2,4] x) => (float[2,4] y) <float k = {60000}, float d = {0.0001}> { a = Mul (x, k)  b = Mul (a, k)  y = Mul (b, d) }"
    model = load(model_of(text, 17))
    found = ConversionVerifier(model, to_float16(model).model, narrow=np.dtype(np.float16)).check()
    assert "elements differ" in found.problem


def test_inputs_and_outputs_keep_their_types_unless_asked(net: Model) -> None:
    changed = to_float16(net, keep_io=False).model
    found = ConversionVerifier(net, changed, narrow=np.dtype(np.float16)).check()
    assert found.problem == "input x is float16, not float32"


def test_over_the_budget_adapters_are_compared_one_by_one() -> None:
    model = load(model_of("g (float[2,3] x) => (float[2,3] y) { a = Softmax <axis = 1> (x)  y = Relu (a) }", 11))
    witness = RegionalVerifier()
    after = convert_opset(model, 13, witness)
    found = ConversionVerifier(model, after, witness=witness, budget=VerifyBudget(memory_bytes=-1)).check()
    assert not found.problem
    assert found.verification.scope == "regions"
    assert (found.verification.regions, found.verification.of) == (1, 1)


def test_over_the_budget_narrow_nodes_are_compared_one_by_one(net: Model) -> None:
    half = np.dtype(np.float16)
    found = ConversionVerifier(net, to_float16(net).model, narrow=half, budget=TIGHT).check()
    assert not found.problem
    assert found.verification.scope == "regions"
    assert found.verification.regions >= 3
    wrong = to_float16(with_scaled_weight(net, 3)).model
    assert "MatMul_3 differs" in ConversionVerifier(net, wrong, narrow=half, budget=TIGHT).check().problem


def test_a_batch_is_the_samples_one_by_one(net: Model) -> None:
    many = set_batch(net, 4)
    assert many.inputs[0].shape == (4, 3, 8, 8)
    assert many.outputs[0].shape == (4, 4)
    assert not ConversionVerifier(net, many, interface=False).check().problem
    x = np.random.default_rng(0).standard_normal((4, 3, 8, 8)).astype(np.float32)
    got = np.asarray(Session(many).run({"x": x})["y"])
    assert got.shape == (4, 4)


def test_a_batch_that_mixes_samples_is_told() -> None:
    text = "g (float[1,4] x) => (float[4] y) { y = ReduceMean <axes = [0], keepdims = 0> (x) }"
    model = load(model_of(text, 13))
    assert ConversionVerifier(model, set_batch(model, 3), interface=False).check().problem


def test_int32_stands_where_nothing_changes() -> None:
    text = """g (float[5,3] x, int64[2] i) => (float[2,3] y, float[2,3] z) <int64[2] k = {4, 1}, int64[2] s = {2, 3}>
        { a = Gather (x, k)  y = Reshape (a, s)  z = Gather (x, i) }"""
    model = load(model_of(text, 17))
    kept = to_int32(model)
    assert (kept.constants, kept.inputs, kept.kept) == (1, 0, 1)
    assert not ConversionVerifier(model, kept.model).check().problem
    free = to_int32(model, keep_io=False)
    assert free.inputs == 1
    assert free.model.inputs[1].dtype == np.int32
    assert not ConversionVerifier(model, free.model, interface=False).check().problem


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1])
def test_what_does_not_fit_stays_int64(value: int) -> None:
    text = "g (float[2,3] x) => (float[2,3] y) <int64[1] e> { y = Slice (x, e, e) }"
    model = load(model_of(text, 17))
    model.graph.nodes[0].inputs[1] = Constant("e2", np.array([value], np.int64))
    assert to_int32(model).constants == 0


def test_attributes_that_say_what_an_older_opset_does_anyway_go() -> None:
    text = """g (float[1,2,8,8] x) => (float[1,2,4,4] y) { a = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 0, dilations = [1, 1]> (x)
        y = Relu (a) }"""
    model = load(model_of(text, 17))
    old = convert_opset(model, 8)
    assert set(old.graph.nodes[0].attrs) == {"kernel_shape", "strides"}
    assert not ConversionVerifier(model, old).check().problem


def listed(count: int, habit: bool = True) -> Model:
    """A chain of Adds whose constants are inputs, too: all of them, or all but one."""
    names = ", ".join(f"float[4] k{k}" for k in range(count))
    body = " ".join(f"v{k + 1} = Add (v{k}, k{k})" for k in range(count))
    proto = model_of(f"g (float[4] v0) => (float[4] y) <{names}> {{ {body} y = Neg (v{count}) }}", 17)
    for tensor in proto.graph.initializer[0 if habit else 1 :]:
        proto.graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    return load(proto)


@pytest.mark.parametrize("model", [listed(16), listed(17, habit=False)], ids=["all", "all but one"])
def test_many_weights_listed_as_inputs_are_weights_and_that_is_said(model: Model) -> None:
    result = optimize(model)
    assert [t.name for t in result.model.graph.inputs] == ["v0"]
    assert result.report.after.nodes < 17
    assert result.report.taken == 16
    assert result.report.verification.scope == "whole"


def test_few_inputs_that_somebody_may_feed_stay() -> None:
    model = listed(15)
    before = [t.name for t in model.graph.inputs]
    result = optimize(model)
    assert [t.name for t in result.model.graph.inputs] == before
    assert result.report.taken == 0
    name = before[-1]
    feeds = {"v0": np.ones(4, np.float32), name: np.full(4, 9, np.float32)}
    want, got = Session(model).run(feeds)["y"], Session(result.model).run(feeds)["y"]
    assert np.allclose(np.asarray(want), np.asarray(got))


@pytest.mark.parametrize("engine", ["embedded", "onnxruntime", "reference"])
def test_feeding_an_input_that_became_a_weight_says_which_and_why(engine: str) -> None:
    if engine == "onnxruntime":
        pytest.importorskip("onnxruntime")
    text = """ <ir_version: 8, opset_import: ["": 17]> g (float[2] x, float[2] w, float[2] v) => (float[2] y)
        <float[2] w = {1, 2}, float[2] v = {3, 4}> { a = Mul (x, w)  y = Mul (a, v) } """
    taken = optimize(load(onnx.parser.parse_model(text)), overridable="weights").model
    saved = load(taken.to_proto())
    feeds = {"x": np.ones(2, np.float32), "w": np.ones(2, np.float32)}
    session = open_engine(saved, engine)
    with pytest.raises(FeedError) as caught:
        session.run(feeds)
    assert caught.value.what == "'w' is no input any more"
    assert caught.value.why == "it had a default, and became a weight that may be folded into others"
    assert "--overridable keep" in caught.value.hint


def test_overridable_inputs_are_kept_or_taken_as_asked() -> None:
    assert len(optimize(listed(16), overridable="keep").model.graph.inputs) == 17
    assert len(optimize(listed(3), overridable="weights").model.graph.inputs) == 1
    with pytest.raises(OptionError, match="overridable is 'all'"):
        optimize(listed(3), overridable="all")


def sets_of(model: Model, seconds: float) -> int:
    session = Session(model)
    made = Samples(model, lambda: session, lambda: False)
    made.make(seconds)
    return len(made.pairs)


def test_how_many_sets_of_inputs_there_are_depends_on_the_work_not_on_the_clock(
    net: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = iter(range(10**9))
    monkeypatch.setattr("passes.samples.perf_counter", lambda: next(passed) / 100)
    assert sets_of(net, 3.0) == 3
    session = Session(net)
    work = effort(session.traced(make_feeds(net).feeds))
    assert sets_of(net, work / RATE / 3) == 1
    assert sets_of(net, 1.5 * work / RATE) == 2
