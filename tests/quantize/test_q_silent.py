"""Nastier variations of what other tools write wrongly without a word: right in onnxruntime, or named."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from exec.errors import OptionError
from exec.metrics import sqnr_db
from quantize.quantize import LOST_DB
from quantize.report import QuantizeReport
from workbench import Model, Session, load, quantize

R = np.random.default_rng(8)
SHAPES = [(6,), (1, 6), (4, 6), (1,), (4, 1), (1, 1), ()]
FACTORS = [(1.0, 0.5), (1.0, 2.0), (-1.5, 1.0), (0.25, 0.0)]


@pytest.fixture(autouse=True)
def _the_same_values_in_any_order() -> None:
    """Each test draws its own values, whichever ran before it in this process."""
    global R
    R = np.random.default_rng(8)


def f32(*shape: int) -> Any:
    return np.asarray(R.standard_normal(shape), np.float32)


def build(text: str, opset: int = 17, **weights: Any) -> Model:
    proto = parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]> {text}')
    proto.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items())
    return load(proto)


def written(model: Model, data: Any, mode: str = "static", **options: Any) -> tuple[QuantizeReport, float]:
    """The report, and dB of the worst output of the checked file in onnxruntime over all samples."""
    ort = pytest.importorskip("onnxruntime")
    options = {"preset": "full", **options}
    result = quantize(model, mode, data, **options)
    proto = result.model.to_proto()
    onnx.checker.check_model(proto, full_check=True)
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    reference = Session(model)
    wants = [reference.run(sample) for sample in data]
    gots = [dict(zip(wants[0], session.run(list(wants[0]), sample), strict=True)) for sample in data]

    def together(values: list[Any], name: str) -> Any:
        return np.concatenate([np.ravel(v[name]) for v in values])

    return result.report, min(sqnr_db(together(wants, n), together(gots, n)) for n in wants[0])


def codes(report: QuantizeReport, level: str = "") -> set[str]:
    return {f.code for f in report.findings if f.level == level or not level}


@pytest.mark.parametrize("mode", ["static", "qoperator", "dynamic"])
@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("alpha", "beta"), FACTORS)
def test_gemm_with_every_factor_and_bias_is_right_in_every_form(
    mode: str, turned: int, shape: tuple[int, ...], alpha: float, beta: float
) -> None:
    attributes = f"alpha={alpha},beta={beta},transB={turned}"
    model = build(
        f"g (float[4,64] x) => (float[4,6] y) {{ y = Gemm<{attributes}>(x, w, c) }}",
        w=f32(6, 64) if turned else f32(64, 6), c=f32(*shape),
    )  # fmt: skip
    options = {"format": "qoperator"} if mode == "qoperator" else {}
    report, db = written(
        model, [{"x": f32(4, 64)} for _ in range(3)], "dynamic" if mode == "dynamic" else "static", **options
    )
    assert len(report.nodes) == 1
    assert db > LOST_DB


@pytest.mark.parametrize("activations", ["u8", "s8", "u16", "s16"])
@pytest.mark.parametrize("clamp", ["Relu(a)", "Clip(a, zero, six)", "Clip(a, one, six)", "Clip(a, minus, minus_one)"])
def test_a_clamp_is_kept_in_every_type_dead_or_alive(activations: str, clamp: str) -> None:
    text = f"g (float[1,8,6,6] x) => (float[1,8,6,6] y) {{ a = Conv(x, w, b) r = {clamp} y = Conv(r, v, c) }}"
    bounds = {k: np.float32(v) for k, v in (("zero", 0), ("one", 1), ("six", 6), ("minus", -6), ("minus_one", -1))}
    used = {k: v for k, v in bounds.items() if f" {k}" in clamp}
    for sign in (-1.0, 1.0):
        model = build(
            text, w=(sign * np.abs(f32(8, 8, 1, 1))).astype(np.float32), b=np.full(8, sign, np.float32), v=f32(8, 8, 1, 1), c=f32(8), **used
        )  # fmt: skip
        report, db = written(model, [{"x": np.abs(f32(1, 8, 6, 6))} for _ in range(3)], activations=activations)
        assert db > LOST_DB or "Q040" in codes(report, "warning")


@pytest.mark.parametrize("dead", ["MatMul", "Gemm", "Conv"])
def test_a_relu_that_never_fired_stays_at_zero_with_s8(dead: str) -> None:
    conv = dead == "Conv"
    shape = (1, 8, 4, 4) if conv else (4, 8)
    dims = ",".join(map(str, shape))
    model = build(
        f"g (float[{dims}] x) => (float[{dims}] y) {{ a = {dead}(x, w) r = Relu(a) y = {dead}(r, v) }}",
        w=-np.abs(f32(8, 8, 1, 1) if conv else f32(8, 8)), v=f32(8, 8, 1, 1) if conv else f32(8, 8),
    )  # fmt: skip
    report, db = written(model, [{"x": np.abs(f32(*shape))} for _ in range(2)], activations="s8")
    assert "Q010" in codes(report)
    assert db == np.inf


def named_then(op: str, second: str) -> str:
    return f"g (float[4,8] x) => (float[4,8] y, float[4,8] z) {{ y = {op} z = {second} }}"


@pytest.mark.parametrize("second", ["Gemm(x, w)", "MatMul(x, w)", "Gemm<alpha=0.5>(x, w)"])
def test_a_weight_read_along_two_axes_is_right_for_both(second: str) -> None:
    uneven = (f32(8, 8) * np.logspace(-2, 1, 8)).astype(np.float32)
    model = build(named_then("Gemm<transB=1>(x, w)", second), w=uneven)
    report, db = written(model, [{"x": f32(4, 8)} for _ in range(3)])
    assert "Q022" in codes(report)
    assert db > LOST_DB


def test_a_weight_of_a_conv_and_a_conv_transpose_is_right_for_both() -> None:
    text = "g (float[1,8,6,6] x) => (float[1,8,6,6] y, float[1,8,6,6] z) { y = Conv(x, w) z = ConvTranspose(x, w) }"
    uneven = (f32(8, 8, 1, 1) * np.logspace(-2, 1, 8).reshape(1, 8, 1, 1)).astype(np.float32)
    report, db = written(build(text, w=uneven), [{"x": f32(1, 8, 6, 6)} for _ in range(3)])
    assert "Q022" in codes(report)
    assert db > LOST_DB


@pytest.mark.parametrize("how", ["embedding", "added", "output"])
def test_a_weight_with_other_readers_keeps_its_values_for_them(how: str) -> None:
    if how == "embedding":
        text = (
            "g (int64[2,5] x) => (float[2,5,64] y) { e = Gather(w, x) t = Transpose<perm=[1,0]>(w) y = MatMul(e, t) }"
        )
        model, data = build(text, w=f32(64, 32)), [{"x": R.integers(0, 64, (2, 5))} for _ in range(3)]
    elif how == "added":
        model = build("g (float[8,8] x) => (float[8,8] y) { a = MatMul(x, w) y = Add(a, w) }", w=f32(8, 8))
        data = [{"x": f32(8, 8)} for _ in range(3)]
    else:
        text = "g (float[4,8] x) => (float[4,8] y, float[8,8] t) { t = Transpose<perm=[1,0]>(w) y = MatMul(x, w) }"
        model, data = build(text, w=f32(8, 8)), [{"x": f32(4, 8)} for _ in range(3)]
    report, db = written(model, data)
    assert len(report.nodes) == 1
    assert db > LOST_DB


CONSTANTS = {
    "MatMul": ("g (float[4,64] x) => (float[4,64] y) { y = MatMul(x, w) }", (64, 64), (4, 64)),
    "Gemm": ("g (float[4,64] x) => (float[4,64] y) { y = Gemm<transB=1>(x, w) }", (64, 64), (4, 64)),
    "Conv": ("g (float[1,8,6,6] x) => (float[1,64,6,6] y) { y = Conv(x, w) }", (64, 8, 1, 1), (1, 8, 6, 6)),
    "ConvTranspose": ("g (float[1,8,6,6] x) => (float[1,64,6,6] y) { y = ConvTranspose(x, w) }", (8, 64, 1, 1), (1, 8, 6, 6)),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["static", "dynamic", "weight-only"])
@pytest.mark.parametrize("op", CONSTANTS)
def test_weights_in_constant_nodes_shrink_as_initializers_do(mode: str, op: str) -> None:
    text, shape, given = CONSTANTS[op]
    proto = parser.parse_model(f'<ir_version: 9, opset_import: ["" : 17]> {text}')
    proto.graph.node.insert(0, helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(f32(*shape), "v")))
    report, db = written(load(proto), [{"x": f32(*given)} for _ in range(3)], mode)
    assert db > LOST_DB
    assert report.nodes or "Q050" in codes(report, "warning")
    assert report.after_bytes < report.before_bytes * 0.6


@pytest.mark.parametrize("way", ["Cast, Transpose", "Cast of doubles", "Mul", "ConstantOfShape"])
def test_a_weight_that_is_made_of_constants_is_found(way: str) -> None:
    steps = {
        "Cast, Transpose": ("a = Cast<to=1>(w) v = Transpose<perm=[1,0]>(a)", {"w": f32(12, 64).astype(np.float16)}),
        "Cast of doubles": ("v = Cast<to=1>(w)", {"w": R.standard_normal((64, 12))}),
        "Mul": ("v = Mul(w, k)", {"w": f32(64, 12), "k": f32(12)}),
        "ConstantOfShape": ("v = ConstantOfShape<value=float[1]{0.5}>(w)", {"w": np.array([64, 12], np.int64)}),
    }
    step, weights = steps[way]
    model = build(f"g (float[4,64] x) => (float[4,12] y) {{ {step} y = MatMul(x, v) }}", **weights)
    report, db = written(model, [{"x": f32(4, 64)} for _ in range(3)])
    assert len(report.nodes) == 1
    assert db > LOST_DB


@pytest.mark.parametrize("factor", [640.0, 3000.0])
@pytest.mark.parametrize("form", ["one convolution", "split", "add"])
def test_small_parts_beside_large_ones_are_named_where_they_are_lost(form: str, factor: float) -> None:
    spread = np.array([factor] * 4 + [1.0] * 3).reshape(7, 1, 1)
    weight = (f32(7, 8, 1) * spread).astype(np.float32)
    if form == "one convolution":
        model = build("g (float[1,8,20] x) => (float[1,7,20] y) { y = Conv(x, w) }", w=weight)
    elif form == "split":
        text = "g (float[1,8,20] x) => (float[1,4,20] y, float[1,3,20] z) { a = Conv(x, w) y, z = Split<axis=1>(a, n) }"
        model = build(text, w=weight, n=np.array([4, 3]))
    else:
        text = "g (float[1,8,20] x) => (float[1,7,20] y, float[1,7,20] z) { a = Conv(x, w) b = Conv(x, v) c = Add(a, b) y = Conv(c, u) z = Sub(c, a) }"
        model = build(text, w=f32(7, 8, 1) * np.float32(factor), v=f32(7, 8, 1), u=f32(7, 7, 1))
    report, _ = written(model, [{"x": f32(1, 8, 20)} for _ in range(3)])
    assert {"Q040", "Q043"} & codes(report, "warning")


@pytest.mark.parametrize("depth", [70_000, 140_000, 300_000])
def test_a_sum_that_could_wrap_the_accumulator_stays_float(depth: int) -> None:
    ones = np.ones((depth, 2), np.float32)
    model = build(f"g (float[1,{depth}] x) => (float[1,2] y) {{ y = MatMul(x, w) }}", w=ones)
    report, db = written(model, [{"x": np.ones((1, depth), np.float32)}])
    assert "Q026" in codes(report, "warning")
    assert db > LOST_DB


@pytest.mark.parametrize("weight", [1e-6, 1e-4, 1e-2])
def test_a_large_bias_leaves_room_for_the_products(weight: float) -> None:
    model = build(
        "g (float[4,256] x) => (float[4,8] y) { y = Gemm(x, w, c) }", w=np.full((256, 8), weight, np.float32), c=np.full(8, 1e3, np.float32)
    )  # fmt: skip
    report, db = written(model, [{"x": np.abs(f32(4, 256)) * 1e-3} for _ in range(3)])
    assert "Q021" in codes(report)
    assert db > LOST_DB


@pytest.mark.parametrize("mode", ["static", "dynamic", "weight-only"])
@pytest.mark.parametrize("shape", [(0, 4), (8, 0), (8, 4)], ids=str)
def test_sizes_of_zero_are_no_accident(mode: str, shape: tuple[int, int]) -> None:
    model = build(f"g (float[N,{shape[0]}] x) => (float[N,{shape[1]}] y) {{ y = MatMul(x, w) }}", w=f32(*shape))
    data = [{"x": f32(n, shape[0])} for n in (3, 2)]
    report = quantize(model, mode, data, preset="full").report
    assert report.nodes or codes(report) & {"Q005", "Q050"}


def in_loop() -> Model:
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["d"]), helper.make_node("MatMul", ["s", "w"], ["m"]), helper.make_node("Tanh", ["m"], ["t"])],
        "body", [helper.make_tensor_value_info(n, t, s) for n, t, s in (("i", 7, []), ("c", 9, []), ("s", 1, [4, 8]))],
        [helper.make_tensor_value_info("d", 9, []), helper.make_tensor_value_info("t", 1, [4, 8])],
    )  # fmt: skip
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("Loop", ["n", "go", "z"], ["y"], body=body)], "g",
        [helper.make_tensor_value_info("x", 1, [4, 8])], [helper.make_tensor_value_info("y", 1, [4, 8])],
        [numpy_helper.from_array(f32(8, 8), "w"), numpy_helper.from_array(np.array(3), "n"), numpy_helper.from_array(np.array(True), "go")],
    )  # fmt: skip
    return load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))


def in_if() -> Model:
    def branch(weight: str) -> onnx.GraphProto:
        made = [helper.make_node("MatMul", ["x", weight], [f"y_{weight}"])]
        return helper.make_graph(made, weight, [], [helper.make_tensor_value_info(f"y_{weight}", 1, [4, 8])])

    graph = helper.make_graph(
        [helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0), helper.make_node("Greater", ["m", "two"], ["c"]),
         helper.make_node("If", ["c"], ["y"], then_branch=branch("w"), else_branch=branch("v"))],
        "g", [helper.make_tensor_value_info("x", 1, [4, 8])], [helper.make_tensor_value_info("y", 1, [4, 8])],
        [numpy_helper.from_array(f32(8, 8), "w"), numpy_helper.from_array(f32(8, 8), "v"), numpy_helper.from_array(np.float32(2), "two")],
    )  # fmt: skip
    return load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))


@pytest.mark.parametrize("mode", ["static", "dynamic"])
@pytest.mark.parametrize("make", [in_loop, in_if])
def test_products_in_bodies_are_reported(mode: str, make: Any) -> None:
    report, db = written(make(), [{"x": f32(4, 8)} for _ in range(3)], mode)
    assert len(report.of("Q070")) == (1 if make is in_loop else 2)
    assert db > LOST_DB


@pytest.mark.parametrize(("op", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_weights_without_an_integer_operator_are_reported(op: str, gates: int) -> None:
    model = build(
        f"g (float[5,1,64] x) => (float[5,P,Q,R] y) {{ a = MatMul(x, k) y = {op}<hidden_size=16>(a, w, r) }}",
        k=f32(64, 64) / 8, w=f32(1, gates * 16, 64) / 8, r=f32(1, gates * 16, 16) / 4,
    )  # fmt: skip
    report, db = written(model, [{"x": f32(5, 1, 64)} for _ in range(3)])
    assert [op in f.message for f in report.of("Q071")] == [True]
    assert db > LOST_DB


@pytest.mark.parametrize(
    ("text", "weights", "reason"),
    [
        ("y = MatMul(x, w)", {"w": (16, 6)}, "read as float"),
        ("y = MatMul(x, w) z = MatMul(x, v)", {"w": (16, 6), "v": (16, 6)}, "read as float"),
    ],
)
def test_qoperator_that_writes_no_integer_operator_says_so(text: str, weights: dict[str, Any], reason: str) -> None:
    outputs = "float[4,6] y, float[4,6] z" if "z =" in text else "float[4,6] y"
    model = build(f"g (float[4,16] x) => ({outputs}) {{ {text} }}", **{n: f32(*s) for n, s in weights.items()})
    report, db = written(model, [{"x": f32(4, 16)} for _ in range(3)], format="qoperator")
    found = report.of("Q032")
    assert (found[0].level, "plain QDQ" in found[0].message) == ("warning", True)
    assert all(reason in f.message for f in found[1:])
    assert len(found) == 1 + len(weights)
    assert db > LOST_DB


def test_qoperator_names_what_stays_between_q_and_dq() -> None:
    text = "g (float[1,8,6,6] x) => (float[1,8,12,12] y) { a = Conv(x, w) r = Relu(a) y = ConvTranspose<strides=[2,2],kernel_shape=[2,2]>(r, v) }"
    model = build(text, w=f32(8, 8, 1, 1), v=f32(8, 8, 2, 2))
    report, db = written(model, [{"x": f32(1, 8, 6, 6)} for _ in range(3)], format="qoperator")
    assert "1 QLinearConv" in report.of("Q031")[0].message
    assert [f.message for f in report.of("Q032")] == ["there is no integer ConvTranspose"]
    assert db > LOST_DB


@pytest.mark.parametrize("op", ["QLinearConv", "DynamicQuantizeLinear", "MatMulNBits"])
def test_models_that_compute_on_integers_are_recognised(op: str) -> None:
    conv = build("g (float[1,8,6,6] x) => (float[1,8,6,6] y) { a = Conv(x, w) y = Relu(a) }", w=f32(8, 8, 1, 1))
    product = build("g (float[4,64] x) => (float[4,64] y) { y = MatMul(x, w) }", w=f32(64, 64))
    made = {
        "QLinearConv": lambda: quantize(conv, data=[{"x": f32(1, 8, 6, 6)}], preset="full", format="qoperator"),
        "DynamicQuantizeLinear": lambda: quantize(product, "dynamic", [{"x": f32(4, 64)}], preset="full"),
        "MatMulNBits": lambda: quantize(product, "weight-only", [{"x": f32(4, 64)}], weights="s4", format="qoperator"),
    }[op]().model
    assert op in {n.op for n in made.graph.nodes}
    again = quantize(
        made, data=[{made.inputs[0].name: f32(*(d for d in made.inputs[0].shape or () if isinstance(d, int)))}]
    )
    assert "Q002" in codes(again.report, "warning")


@pytest.mark.parametrize("left", ["cv", "bn", "act"])
def test_a_node_is_left_out_by_any_name_of_the_original(left: str) -> None:
    model = build(
        "g (float[1,8,5,5] x) => (float[1,4,5,5] y) { a = Conv(x, w) b = BatchNormalization(a, s, o, m, v) y = Sigmoid(b) }",
        w=f32(4, 8, 1, 1), s=f32(4), o=f32(4), m=f32(4), v=np.abs(f32(4)),
    )  # fmt: skip
    proto = model.to_proto()
    for node, name in zip(proto.graph.node, ("cv", "bn", "act"), strict=True):
        node.name = name
    report = quantize(load(proto), data=[{"x": f32(1, 8, 5, 5)}], preset="full", exclude=[left]).report
    assert (report.nodes == ()) is (left != "act")


@pytest.mark.parametrize("selector", ["Conv_9", "op:Gemm", "name:~nothing", "no*", ""])
def test_a_selector_without_a_node_is_an_error(selector: str) -> None:
    model = build("g (float[1,8,6,6] x) => (float[1,8,6,6] y) { y = Conv(x, w) }", w=f32(8, 8, 1, 1))
    with pytest.raises(OptionError, match="matches no node"):
        quantize(model, data=[{"x": f32(1, 8, 6, 6)}], exclude=[selector])


def test_a_selector_that_could_take_for_ever_is_an_error() -> None:
    model = build("g (float[1,8,6,6] x) => (float[1,8,6,6] y) { y = Conv(x, w) }", w=f32(8, 8, 1, 1))
    with pytest.raises(OptionError, match="selects nothing"):
        quantize(model, data=[{"x": f32(1, 8, 6, 6)}], exclude=["name:~(a+)+$"])


@pytest.mark.parametrize("opset", [7, 9, 11, 12])
@pytest.mark.parametrize("activations", ["u8", "u16"])
def test_an_opset_too_low_is_raised_and_said(opset: int, activations: str) -> None:
    model = build("g (float[1,8,6,6] x) => (float[1,8,6,6] y) { a = Conv(x, w) y = Relu(a) }", opset, w=f32(8, 8, 1, 1))
    report, db = written(model, [{"x": f32(1, 8, 6, 6)} for _ in range(3)], activations=activations)
    assert report.of("Q030")[0].message == f"opset {opset} → {13 if activations == 'u8' else 21}"
    assert db > LOST_DB


def test_double_and_half_products_stay_float_beside_single_ones() -> None:
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16), helper.make_node("MatMul", ["h", "w"], ["a"]),
         helper.make_node("Cast", ["a"], ["b"], to=TensorProto.FLOAT), helper.make_node("MatMul", ["b", "v"], ["y"])],
        "g", [helper.make_tensor_value_info("x", 1, [4, 64])], [helper.make_tensor_value_info("y", 1, [4, 8])],
        [numpy_helper.from_array(f32(64, 32).astype(np.float16), "w"), numpy_helper.from_array(f32(32, 8), "v")],
    )  # fmt: skip
    model = load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))
    report, db = written(model, [{"x": f32(4, 64)} for _ in range(3)])
    assert [n.name for n in report.nodes] == ["MatMul_3"]
    assert "float16" in report.of("Q005")[0].message
    assert db > LOST_DB


DEAD = {
    "relu": "a = Conv(x, w, b) r = Relu(a) y = Conv(r, v)",
    "moved": "a = Conv(x, w, b) r = Relu(a) t = Transpose<perm=[0,1,3,2]>(r) y = Conv(t, v)",
    "joined": "a = Conv(x, w, b) r = Relu(a) c = Conv(z, v) s = Relu(c) j = Add(r, s) y = Conv(j, v)",
    "clip": "a = Conv(x, w, b) r = Clip(a, low, high) y = Conv(r, v)",
    "below": "a = Conv(x, w, b) p = Identity(a) r = Relu(p) q = Relu(a) j = Add(r, q) y = Conv(j, v)",
}


def seen(low: float) -> Any:
    """Values between −1 and 1, in the first four channels from `low`."""
    values = R.uniform(-1, 1, (1, 8, 6, 6))
    values[:, :4] = R.uniform(low, 1, (1, 4, 6, 6))
    return values.astype(np.float32)


@pytest.mark.parametrize("activations", ["u8", "s8"])
@pytest.mark.parametrize("searched", [False, True])
@pytest.mark.parametrize("kind", DEAD)
def test_a_value_that_was_zero_in_calibration_is_right_on_live_data(
    kind: str, searched: bool, activations: str
) -> None:
    weight = -np.abs(f32(8, 8, 1, 1)) / 8 * (np.arange(8) < 4).reshape(1, 8, 1, 1)
    model = build(
        f"g (float[1,8,6,6] x, float[1,8,6,6] z) => (float[1,8,6,6] y, float[1,8,6,6] e) {{ {DEAD[kind]} e = Conv(z, u) }}",
        w=weight.astype(np.float32), v=f32(8, 8, 1, 1), u=f32(8, 8, 1, 1), b=np.zeros(8, np.float32), low=np.float32(0), high=np.float32(6),
    )  # fmt: skip
    calm, live = [{"x": seen(0.0), "z": seen(-1.0)} for _ in range(3)], {"x": seen(-1.0), "z": seen(-1.0)}
    result = quantize(
        model, data=calm, preset="full", activations=activations, target=20.0 if searched else None, timed=False
    )
    assert "Q010" in codes(result.report, "warning")
    want, got = Session(model).run(live)["y"], Session(result.model).run(live)["y"]
    assert sqnr_db(want, got) > LOST_DB


def test_a_value_no_sample_made_stays_float() -> None:
    text = "g (float[1,8] x, float[n,8] e) => (float[1,4] y, float[n,4] z) { y = MatMul(x, w) z = MatMul(e, v) }"
    model = build(text, w=f32(8, 4), v=f32(8, 4))
    report, db = written(model, [{"x": f32(1, 8), "e": f32(0, 8)} for _ in range(3)])
    assert [f.node for f in report.findings if f.code == "Q013"] == ["e"]
    assert [n.name for n in report.nodes] == ["MatMul_0"]
    assert db > LOST_DB
