"""Dynamic, weight-only and QOperator: accepted by the checker and by onnxruntime, and right."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from exec.errors import OptionError
from exec.metrics import sqnr_db
from quantize.numerics import TYPES
from quantize.weight_only import blocks, unblocked
from workbench import Model, Session, load, quantize
from workbench.samples import sample

R = np.random.default_rng(1)
LEAST_DB = 30.0  # 8 bits of a well-scaled layer
LEAST_DB_4 = 15.0  # 4 bits in blocks


def f32(*shape: int) -> Any:
    return R.standard_normal(shape).astype(np.float32)


def build(text: str, opset: int = 17, **weights: Any) -> Model:
    proto = parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]> {text}')
    proto.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items())
    return load(proto)


def checked(model: Model, given: dict[str, Any]) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """The result's proto, and what the embedded engine computes, which is what onnxruntime computes."""
    proto = model.to_proto()
    onnx.checker.check_model(proto)
    got = Session(load(proto)).run(given)
    ort = pytest.importorskip("onnxruntime")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for name, want in zip(got, session.run(None, given), strict=True):
        scale = float(np.abs(want).max())
        np.testing.assert_allclose(got[name], want, rtol=0, atol=ONE_STEP * scale)
    return proto, got


ONE_STEP = 1.5 / 255
"""Ties round differently in the integer kernels of runtimes: one step of 8 bits."""

CONV = "g (float[1,8,9,9] x) => (float[1,16,9,9] y) { a = Conv<pads=[1,1,1,1]>(x, w, b) y = Relu(a) }"
CASES: dict[str, tuple[str, dict[str, tuple[int, ...]]]] = {
    "matmul": ("g (float[3,64] x) => (float[3,32] y) { y = MatMul(x, w) }", {"w": (64, 32)}),
    "matmul3": ("g (float[2,3,64] x) => (float[2,3,32] y) { y = MatMul(x, w) }", {"w": (2, 64, 32)}),
    "gemm": ("g (float[3,64] x) => (float[3,32] y) { y = Gemm<alpha=0.5,beta=2.0>(x, w, b) }", {"w": (64, 32), "b": (32,)}),
    "gemm_t": ("g (float[3,64] x) => (float[3,32] y) { y = Gemm<transB=1>(x, w, b) }", {"w": (32, 64), "b": (1, 32)}),
    "gemm_full_bias": ("g (float[3,64] x) => (float[3,32] y) { y = Gemm<beta=0.5>(x, w, b) }", {"w": (64, 32), "b": (3, 32)}),
    "conv": (CONV, {"w": (16, 8, 3, 3), "b": (16,)}),
    "grouped": (CONV.replace("pads=", "group=2,pads="), {"w": (16, 4, 3, 3), "b": (16,)}),
}  # fmt: skip


def case(name: str) -> tuple[Model, dict[str, Any]]:
    text, shapes = CASES[name]
    model = build(text, **{n: f32(*s) for n, s in shapes.items()})
    shape = [d for d in model.inputs[0].shape or () if isinstance(d, int)]
    return model, {"x": f32(*shape)}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("per_channel", [True, False])
def test_dynamic_computes_on_integers_and_gives_float(name: str, per_channel: bool) -> None:
    model, given = case(name)
    result = quantize(model, "dynamic", [given], preset="full", per_channel=per_channel)
    proto, got = checked(result.model, given)
    ops = {n.op_type for n in proto.graph.node}
    assert "DynamicQuantizeLinear" in ops
    assert {"ConvInteger", "MatMulInteger"} & ops
    assert not {"Conv", "Gemm", "MatMul"} & ops
    assert sqnr_db(Session(model).run(given)["y"], got["y"]) > LEAST_DB


def test_dynamic_leaves_convolutions_float_and_says_why() -> None:
    model, given = case("conv")
    report = quantize(model, "dynamic", [given]).report
    assert [f.message for f in report.of("Q003")] == ["runtimes compute ConvInteger slower than a float Conv"]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("weights", ["s8", "u8"])
def test_weight_only_8_bit_stores_a_quarter(name: str, weights: str) -> None:
    model, given = case(name)
    result = quantize(model, "weight-only", [given], weights=weights)
    _, got = checked(result.model, given)
    assert result.report.after_bytes < result.report.before_bytes / 2
    assert sqnr_db(Session(model).run(given)["y"], got["y"]) > LEAST_DB


@pytest.mark.parametrize("weights", ["s4", "u4"])
@pytest.mark.parametrize("format", ["qdq", "qoperator"])
@pytest.mark.parametrize("name", ["matmul", "gemm", "gemm_t"])
def test_weight_only_4_bit_in_blocks(name: str, weights: str, format: str) -> None:
    model, given = case(name)
    result = quantize(model, "weight-only", [given], weights=weights, format=format)
    if format == "qoperator" and "gemm" in name:
        result.model.to_proto()
    proto, got = checked(result.model, given)
    ops = {n.op_type for n in proto.graph.node}
    assert ("MatMulNBits" in ops) is (format == "qoperator" and name == "matmul")
    assert result.report.after_bytes < result.report.before_bytes / 4
    assert sqnr_db(Session(model).run(given)["y"], got["y"]) > LEAST_DB_4


@pytest.mark.parametrize("kind", ["s4", "u4", "s8", "u8"])
def test_blocks_lose_no_more_than_half_a_step_each(kind: str) -> None:
    weight = f32(40, 70)
    weight[:, 32:64] *= 1000
    made = blocks(weight, TYPES[kind], 1, 32)
    assert made.scale.shape == (40, 3)
    gap = np.abs(unblocked(made) - weight)
    clipped = np.repeat(np.abs(made.scale), 32, 1)[:, :70]
    assert np.median(gap / clipped) < 0.5
    assert sqnr_db(weight[:, :32], unblocked(made)[:, :32]) > LEAST_DB_4


def test_weight_only_reaches_into_the_bodies_of_control_flow() -> None:
    text = """g (bool c, float[2,32] x) => (float[2,32] y) {
        y = If (c) <then_branch = t () => (float[2,32] a) { a = MatMul(x, w) }, else_branch = e () => (float[2,32] b) { b = Neg(x) }>
    }"""
    model = build(text, w=f32(32, 32))
    given = {"c": np.asarray(True), "x": f32(2, 32)}
    result = quantize(model, "weight-only", [given])
    _, got = checked(result.model, given)
    assert len(result.report.nodes) == 1
    assert result.report.after_bytes < result.report.before_bytes / 2
    assert sqnr_db(Session(model).run(given)["y"], got["y"]) > LEAST_DB
    static = quantize(model, data=[given], preset="full").report
    assert [f.code for f in static.findings if f.code == "Q070"] == ["Q070"]


def test_a_weight_read_twice_is_stored_once() -> None:
    text = "g (float[2,32] x) => (float[2,32] y, float[2,32] z) { y = MatMul(x, w) t = Neg(x) z = MatMul(t, w) }"
    result = quantize(build(text, w=f32(32, 32)), "weight-only", [{"x": f32(2, 32)}])
    assert sum(n.op_type == "DequantizeLinear" for n in result.model.to_proto().graph.node) == 1


NET = """g (float[1,8,8,8] x) => (float[1,10] y) {
    a = Conv<pads=[1,1,1,1]>(x, w1, b1)  r = Relu(a)  p = MaxPool<kernel_shape=[2,2],strides=[2,2]>(r)
    c = Conv<pads=[1,1,1,1]>(p, w2, b2)  s = Add(c, p)  d = Conv(s, w3, b3)  u = Relu(d)
    f = Flatten(u)  y = Gemm<transB=1>(f, w4, b4)
}"""


def net() -> Model:
    shapes: dict[str, tuple[int, ...]] = {"w1": (8, 8, 3, 3), "b1": (8,), "w2": (8, 8, 3, 3), "b2": (8,), "w3": (8, 8, 1, 1), "b3": (8,), "w4": (10, 128), "b4": (10,)}  # fmt: skip
    return build(NET, **{n: (f32(*s) / np.sqrt(float(np.prod(s[1:])))).astype(np.float32) for n, s in shapes.items()})


@pytest.mark.parametrize("activations", ["u8", "s8"])
def test_qoperator_has_no_float_between_integer_operators(activations: str) -> None:
    model, given = net(), {"x": f32(1, 8, 8, 8)}
    result = quantize(model, data=[given], preset="full", format="qoperator", activations=activations)
    proto, got = checked(result.model, given)
    ops = [n.op_type for n in proto.graph.node]
    assert ops.count("QLinearConv") == 3
    assert ops.count("QLinearAdd") == 1
    assert ops.count("QGemm") == 1
    assert ops.count("QuantizeLinear") == 1
    assert "DequantizeLinear" not in ops
    assert "Relu" not in ops
    assert sqnr_db(Session(model).run(given)["y"], got["y"]) > LEAST_DB - 5


def test_qoperator_and_qdq_compute_the_same() -> None:
    model, given = net(), {"x": f32(1, 8, 8, 8)}
    qdq = quantize(model, data=[given], preset="full").model
    integer = quantize(model, data=[given], preset="full", format="qoperator").model
    want, got = Session(qdq).run(given)["y"], Session(integer).run(given)["y"]
    np.testing.assert_allclose(got, want, rtol=0, atol=2 * ONE_STEP * float(np.abs(want).max()))


def test_a_scale_for_the_whole_weight_is_read_in_memory_as_from_a_file() -> None:
    given = {"image": f32(1, 1, 8, 8)}
    made = quantize(load(sample("digits_cnn.onnx")), data=[given], preset="full", format="qoperator", per_channel=False)
    want = Session(load(made.model.to_proto())).run(given)["logits"]
    assert np.array_equal(Session(made.model).run(given)["logits"], want)


def test_qoperator_refuses_16_bit_activations() -> None:
    with pytest.raises(OptionError, match="activations in u16"):
        quantize(net(), data=[{"x": f32(1, 8, 8, 8)}], format="qoperator", activations="u16")


@pytest.mark.parametrize("activations", ["u16", "s16"])
def test_16_bit_activations_raise_the_opset_and_are_nearly_exact(activations: str) -> None:
    model, given = net(), {"x": f32(1, 8, 8, 8)}
    result = quantize(model, data=[given], preset="full", activations=activations)
    proto, got = checked(result.model, given)
    assert proto.opset_import[0].version >= 21
    assert "Q030" in {f.code for f in result.report.findings}
    narrow = quantize(model, data=[given], preset="full").report.outputs[0].sqnr_db
    assert sqnr_db(Session(model).run(given)["y"], got["y"]) > narrow


def test_4_bit_weights_are_for_weight_only() -> None:
    with pytest.raises(OptionError, match="s4"):
        quantize(net(), data=[{"x": f32(1, 8, 8, 8)}], weights="s4")


def test_the_command_searches_saves_ranges_and_writes_json(tmp_path: Any) -> None:
    import json

    from click.testing import CliRunner

    from workbench.cli.quantize import command

    out, ranges = tmp_path / "small.onnx", tmp_path / "ranges.json"
    fragile = str(sample("digits_fragile.onnx"))
    asked = [fragile, "-o", str(out), "--preset", "full", "--auto", "--target-db", "20", "--save-ranges", str(ranges), "--samples", "8", "--json"]  # fmt: skip
    ran = CliRunner().invoke(command, asked, catch_exceptions=False)
    assert ran.exit_code == 0
    told = json.loads(ran.stdout)
    assert told["search"][0]["met"]
    assert told["after_bytes"] < told["optimized_bytes"] / 2
    again = [fragile, "-o", str(out), "--preset", "full", "--repair", "equalize", "--ranges", str(ranges), "--operators", "qoperator"]  # fmt: skip
    assert CliRunner().invoke(command, again, catch_exceptions=False).exit_code == 0
    assert "QLinearConv" in {n.op_type for n in onnx.load(out).graph.node}


@pytest.mark.parametrize("weights", ["s8", "u8", "s4", "u4", "f8"])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_table_is_never_made_float_as_a_whole(weights: str, axis: int) -> None:
    shape = "64,2,3" if axis else "2,3,32"
    model = build(
        f"g (int64[2,3] x) => (float[{shape}] y) {{ y = Gather<axis={axis}>(w, x) }}",
        w=(f32(64, 32) * np.logspace(-2, 1, 64)[:, None]).astype(np.float32),
    )
    result = quantize(model, "weight-only", [{"x": R.integers(-32, 32, (2, 3))}], weights=weights)
    proto, got = checked(result.model, {"x": np.asarray([[0, 5, -1], [31, -32, 5]])})
    assert "DequantizeLinear" not in {n.op_type for n in proto.graph.node}
    assert sqnr_db(np.take(weight(model), [[0, 5, -1], [31, -32, 5]], axis), got["y"]) > LEAST_DB
    assert result.report.after_bytes < result.report.before_bytes / 3
    assert bool(result.report.of("Q027")) == (weights not in ("s8", "u8"))


def weight(model: Model) -> Any:
    return next(t.values for n in model.graph.nodes for t in n.inputs if t.name == "w")


@pytest.mark.parametrize("weights", ["s8", "s4"])
def test_a_table_tied_to_a_product_makes_no_larger_file(weights: str) -> None:
    text = "g (int64[2,5] x) => (float[2,5,64] y) { e = Gather(w, x) t = Transpose<perm=[1,0]>(w) y = MatMul(e, t) }"
    model = build(text, w=f32(64, 64))
    result = quantize(model, "weight-only", [{"x": R.integers(0, 64, (2, 5))}], weights=weights)
    assert result.report.after_bytes < 0.55 * result.report.before_bytes
    assert [n.op for n in result.report.nodes] == ["Gather", "MatMul"]
    assert result.report.outputs[0].sqnr_db > (LEAST_DB if weights == "s8" else LEAST_DB_4)


def test_dynamic_reports_the_work_in_8_bits_under_the_names_of_the_original() -> None:
    text = "g (float[4,64] x) => (float[4,64] y) { [first] a = MatMul(x, w) r = Relu(a) [second] y = Gemm(r, v) }"
    model = build(text, w=f32(64, 64), v=f32(64, 64))
    result = quantize(model, "dynamic", [{"x": f32(4, 64)}])
    assert [(n.name, n.macs, n.intensity) for n in result.report.nodes] == [
        ("first", 16384, 32.0),
        ("second", 16384, 32.0),
    ]
    assert (result.report.macs_int8, result.report.macs_total) == (32768, 32768)
    integer = [n.name for n in result.model.graph.nodes if n.op == "MatMulInteger"]
    assert integer == ["first", "second"]


def test_weight_only_says_that_the_products_stay_float() -> None:
    model = build("g (float[4,64] x) => (float[4,64] y) { y = MatMul(x, w) }", w=f32(64, 64))
    report = quantize(model, "weight-only").report
    assert (report.macs_int8, report.macs_total) == (0, 16384)
    assert report.of("Q017")
    assert not report.of("Q001")


@pytest.mark.parametrize("mode", ["static", "dynamic", "weight-only"])
def test_an_operator_newer_than_the_file_raises_its_opset(mode: str) -> None:
    text = "g (float[4,64] x) => (float[4,64] y) { n = LayerNormalization(x, s, c) y = MatMul(n, w) }"
    model = build(text, 11, s=np.ones(64, np.float32), c=np.zeros(64, np.float32), w=f32(64, 64))
    result = quantize(model, mode, [{"x": f32(4, 64)}], preset="full")
    checked(result.model, {"x": f32(4, 64)})
    assert result.report.opset == (11, 17)
    assert "LayerNormalization" in result.report.of("Q030")[0].message
    with pytest.raises(OptionError, match="opset 13 is too low") as raised:
        quantize(model, mode, [{"x": f32(4, 64)}], opset=13)
    assert "LayerNormalization" in str(raised.value)


def lstm(direction: str, extra: str = "") -> tuple[Model, list[dict[str, Any]]]:
    heads = 2 if direction == "bidirectional" else 1
    text = (
        f"g (float[6,2,64] x) => (float[6,{heads},2,128] y, float[{heads},2,128] h, float[{heads},2,128] c) {{ a = MatMul(x, k)"
        f' y, h, c = LSTM<hidden_size=128, direction="{direction}"{extra}>(a, w, r, b) }}'
    )
    uneven = np.logspace(-1, 0, 512).reshape(1, -1, 1)
    weights = {
        "w": f32(heads, 512, 64) / 8 * uneven,
        "r": f32(heads, 512, 128) / 8 * uneven,
        "b": f32(heads, 1024) / 4,
        "k": f32(64, 64) / 8,
    }
    model = build(text, **{n: v.astype(np.float32) for n, v in weights.items()})
    return model, [{"x": f32(6, 2, 64)} for _ in range(4)]


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_an_lstm_is_written_for_onnxruntime_and_said(direction: str) -> None:
    model, data = lstm(direction)
    result = quantize(model, data=data, preset="full")
    proto, got = checked(result.model, data[0])
    assert "DynamicQuantizeLSTM" in {n.op_type for n in proto.graph.node}
    want = Session(model).run(data[0])
    assert all(sqnr_db(want[n], got[n]) > LEAST_DB for n in want)
    assert [f.level for f in result.report.of("Q033")] == ["warning"]
    assert not result.report.of("Q071")
    assert result.report.macs_int8 == result.report.macs_total
    assert result.report.after_bytes < 0.3 * result.report.before_bytes


@pytest.mark.parametrize("how", ["excluded", "searched", "included", "u16", "layout"])
def test_an_lstm_stays_float_where_it_was_not_meant(how: str) -> None:
    model, data = lstm("forward")
    if how == "layout":
        model = build(
            "g (float[6,2,64] x) => (float[6,2,1,128] y) { a = MatMul(x, k) y = LSTM<hidden_size=128, layout=1>(a, w, r) }",
            k=f32(64, 64) / 8, w=f32(1, 512, 64) / 8, r=f32(1, 512, 128) / 8,
        )  # fmt: skip
    options: dict[str, Any] = {
        "excluded": {"exclude": ["op:LSTM"]}, "searched": {"target": 20.0}, "included": {"include": ["op:MatMul"]}, "u16": {"activations": "u16"}, "layout": {},
    }[how]  # fmt: skip
    result = quantize(model, data=data, preset="full", **options)
    assert not any(n.domain for n in result.model.graph.nodes)
    assert [f.node for f in result.report.of("Q071")]
