"""Models other tools write wrongly without a word: each is right here, or has a finding that names the place."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from exec.metrics import sqnr_db
from quantize.cpu import cpu_findings
from quantize.report import QuantizeReport
from workbench import Model, Session, load, quantize

R = np.random.default_rng(5)
LEAST_DB = 28.0


def f32(*shape: int) -> Any:
    return R.standard_normal(shape).astype(np.float32)


def build(text: str, opset: int = 17, **weights: Any) -> Model:
    proto = parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]> {text}')
    proto.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items())
    return load(proto)


def judged(model: Model, data: list[dict[str, Any]], **options: Any) -> tuple[QuantizeReport, float, onnx.ModelProto]:
    """(report, dB of the worst output on a fresh sample in onnxruntime, the file)."""
    ort = pytest.importorskip("onnxruntime")
    result = quantize(model, data=data, preset="full", **options)
    proto = result.model.to_proto()
    onnx.checker.check_model(proto, full_check=True)
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    want = Session(model).run(data[-1])
    got = session.run(list(want), data[-1])
    return result.report, min(sqnr_db(w, g) for w, g in zip(want.values(), got, strict=True)), proto


def codes(report: QuantizeReport) -> set[str]:
    return {f.code for f in report.findings}


def stored(proto: onnx.ModelProto) -> set[str]:
    return {TensorProto.DataType.Name(t.data_type) for t in proto.graph.initializer if np.prod(t.dims) > 32}


@pytest.mark.parametrize("group", [1, 2, 4])
def test_conv_transpose_in_groups(group: int) -> None:
    text = f"g (float[1,8,5,5] x) => (float[1,{4 * group},10,10] y) {{ y = ConvTranspose<group={group},strides=[2,2],kernel_shape=[2,2]>(x, w, b) }}"
    model = build(text, w=f32(8, 4, 2, 2), b=f32(4 * group))
    report, db, _ = judged(model, [{"x": f32(1, 8, 5, 5)} for _ in range(3)])
    assert len(report.nodes) == 1
    assert db > LEAST_DB


@pytest.mark.parametrize("shape", [(16,), (16, 5), (2, 16, 5), (3, 2, 16, 5)], ids=str)
def test_matmul_weights_of_any_rank(shape: tuple[int, ...]) -> None:
    lead = shape[:-2] if len(shape) > 2 else ()
    given = ",".join(map(str, (*lead, 4, 16)))
    made = ",".join(map(str, (*lead, 4, *shape[-1:]) if len(shape) > 1 else (4,)))
    model = build(f"g (float[{given}] x) => (float[{made}] y) {{ y = MatMul(x, w) }}", w=f32(*shape))
    report, db, _ = judged(model, [{"x": f32(*lead, 4, 16)} for _ in range(3)])
    assert db > LEAST_DB
    assert (report.of("Q004") != ()) is (len(shape) == 1)


WAYS = {
    "Transpose": ("v = Transpose<perm=[1,0]>(w)", f32(12, 64)),
    "Identity": ("v = Identity(w)", f32(64, 12)),
    "Cast": ("v = Cast<to=1>(w)", f32(64, 12).astype(np.float16)),
    "Reshape": ("v = Reshape(w, s)", f32(12 * 64)),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_weight_behind_an_operator_is_found(way: str) -> None:
    step, weight = WAYS[way]
    extra: dict[str, Any] = {"s": np.array([64, 12], np.int64)} if way == "Reshape" else {}
    model = build(f"g (float[4,64] x) => (float[4,12] y) {{ {step} y = MatMul(x, v) }}", w=weight, **extra)
    report, db, proto = judged(model, [{"x": f32(4, 64)} for _ in range(3)])
    assert len(report.nodes) == 1
    assert stored(proto) == {"INT8"}
    assert db > LEAST_DB


def test_a_weight_that_is_also_an_output_keeps_its_values() -> None:
    text = "g (float[4,64] x) => (float[4,12] y, float[64,12] w2) { y = MatMul(x, w) w2 = Identity(w) }"
    model = build(text, w=f32(64, 12))
    data = [{"x": f32(4, 64)} for _ in range(3)]
    result = quantize(model, data=data, preset="full")
    np.testing.assert_array_equal(Session(result.model).run(data[0])["w2"], Session(model).run(data[0])["w2"])
    assert result.report.outputs[0].sqnr_db > LEAST_DB


@pytest.mark.parametrize("factor", [1e3, 1e4, 1e5])
def test_a_channel_that_reaches_far_is_named(factor: float) -> None:
    spread = np.ones(16, np.float32)
    spread[7] = factor
    text = "g (float[1,16,6,6] x) => (float[1,8,6,6] y) { y = Conv(x, w) }"
    model = build(text, w=f32(8, 16, 1, 1) / spread.reshape(1, -1, 1, 1))
    data = [{"x": f32(1, 16, 6, 6) * spread.reshape(1, -1, 1, 1)} for _ in range(3)]
    report, _, _ = judged(model, data)
    finding = report.of("Q011")[0]
    assert (finding.level, finding.node) == ("warning", "x")
    assert "channel 7" in finding.message


@pytest.mark.parametrize("op", ["Conv", "MatMul", "Gemm"])
def test_boxes_beside_scores_are_named_where_they_are_read_as_one(op: str) -> None:
    call, shape, axis = {
        "Conv": ("Conv", (1, 4, 6, 6), 1),
        "MatMul": ("MatMul", (6, 4), 1),
        "Gemm": ("Gemm", (6, 4), 1),
    }[op]
    dims = ",".join(map(str, shape))
    made = "1,6,6,6" if op == "Conv" else "6,6"
    model = build(
        f"g (float[{dims}] a, float[{dims}] b) => (float[{made}] y) {{ big = Mul(a, k) s = Sigmoid(b) c = Concat<axis={axis}>(big, s) y = {call}(c, w) }}",
        k=np.float32(640), w=f32(6, 8, 1, 1) if op == "Conv" else f32(8, 6),
    )  # fmt: skip
    report, _, _ = judged(model, [{"a": np.abs(f32(*shape)), "b": f32(*shape)} for _ in range(3)])
    assert [f.node for f in report.of("Q014")] == ["c"]


@pytest.mark.parametrize(
    "joins", ["y = Concat<axis=1>(big, s)", "t = Concat<axis=1>(big, s) y = Transpose<perm=[0,2,1]>(t)"]
)
def test_boxes_beside_scores_that_are_only_put_together_stay_float(joins: str) -> None:
    text = f"g (float[1,8,20] x) => (float[1,P,Q] y) {{ a = Conv(x, w) big = Mul(a, k) b = Conv(x, v) s = Sigmoid(b) {joins} }}"
    model = build(text, k=np.float32(640), w=f32(4, 8, 1), v=f32(3, 8, 1))
    report, _, _ = judged(model, [{"x": f32(1, 8, 20)} for _ in range(3)])
    slices = report.outputs[0].slices_db
    assert len(slices) == 7
    assert min(slices) > 20.0


@pytest.mark.parametrize("value", ["-inf", "-3.4028235e38", "-1e38"])
def test_a_pad_with_a_sentinel_before_a_pool(value: str) -> None:
    text = """g (float[1,8,8,8] x) => (float[1,8,5,5] y) {
        a = Conv(x, w, b) r = Relu(a) p = Pad(r, pads, low) m = MaxPool<kernel_shape=[2,2],strides=[2,2]>(p) y = Conv(m, v, c)
    }"""
    pads = np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)
    model = build(text, w=f32(8, 8, 1, 1), b=f32(8), v=f32(8, 8, 1, 1), c=f32(8), pads=pads, low=np.float32(value))
    report, db, _ = judged(model, [{"x": f32(1, 8, 8, 8)} for _ in range(3)])
    assert db > LEAST_DB - 3
    assert all(abs(t.low) < 100 and abs(t.high) < 1000 for t in report.tensors)


@pytest.mark.parametrize("activations", ["u8", "s8"])
@pytest.mark.parametrize("weights", ["s8", "u8"])
@pytest.mark.parametrize("per_channel", [True, False])
def test_every_type_of_integers_is_right(activations: str, weights: str, per_channel: bool) -> None:
    text = (
        "g (float[1,8,8,8] x) => (float[1,8,6,6] y) { a = Conv<pads=[1,1,1,1]>(x, w, b) r = Relu(a) y = Conv(r, v, c) }"
    )
    model = build(text, w=f32(8, 8, 3, 3), b=f32(8), v=f32(8, 8, 3, 3), c=f32(8))
    data = [{"x": f32(1, 8, 8, 8)} for _ in range(3)]
    _, db, _ = judged(model, data, activations=activations, weights=weights, per_channel=per_channel)
    assert db > LEAST_DB


@pytest.mark.parametrize("bias", [1e3, 1e6, -1e7])
def test_a_bias_too_large_for_the_accumulator_widens_the_weight_scale_or_fits(bias: float) -> None:
    model = build(
        "g (float[4,16] x) => (float[4,8] y) { y = Gemm(x, w, c) }", w=f32(16, 8) * 1e-4, c=np.full(8, bias, np.float32)
    )
    report, db, _ = judged(model, [{"x": f32(4, 16) * 1e-3} for _ in range(3)])
    assert db > LEAST_DB
    assert "Q021" in codes(report)


@pytest.mark.parametrize("op", ["Conv", "Gemm", "MatMul"])
def test_a_float16_model_stays_float_with_the_reason(op: str) -> None:
    call, shape, weight = {
        "Conv": ("Conv", [1, 8, 5, 5], (4, 8, 1, 1)),
        "Gemm": ("Gemm", [2, 8], (8, 4)),
        "MatMul": ("MatMul", [2, 8], (8, 4)),
    }[op]
    graph = helper.make_graph(
        [helper.make_node(call, ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT16, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, None)], [numpy_helper.from_array(f32(*weight).astype(np.float16), "w")],
    )  # fmt: skip
    model = load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9))
    report = quantize(model, data=[{"x": f32(*shape).astype(np.float16)}], preset="full").report
    assert "float16" in report.of("Q005")[0].message
    assert "Q050" in codes(report)


def test_saturation_on_a_cpu_without_vnni_is_said() -> None:
    assert [f.code for f in cpu_findings("u8", "s8", frozenset(("avx2",)), "x86_64")] == ["Q060"]
    assert cpu_findings("u8", "s8", frozenset(("avx2", "avx_vnni")), "x86_64") == []
    assert cpu_findings("u8", "u8", frozenset(("avx2",)), "x86_64") == []
    assert cpu_findings("u8", "s8", frozenset(("neon",)), "aarch64") == []


def test_float_weights_beside_integer_ones_are_stored_in_half() -> None:
    text = "g (float[1,3,16,16] x) => (float[1,16,14,14] y) { a = Conv(x, w) r = Relu(a) y = Conv(r, v) }"
    model = build(text, w=f32(64, 3, 3, 3), v=f32(16, 64, 1, 1))
    data = [{"x": f32(1, 3, 16, 16)} for _ in range(3)]
    last = quantize(model, data=data, preset="full").report.nodes[-1].name
    result = quantize(model, data=data, include=[last], preset="full")
    proto = result.model.to_proto()
    assert "FLOAT16" in stored(proto)
    assert "Q024" in codes(result.report)
    assert result.report.outputs[0].sqnr_db > LEAST_DB


def test_silu_between_convolutions_is_integer() -> None:
    text = "g (float[1,8,8,8] x) => (float[1,8,8,8] y) { a = Conv(x, w) s = Sigmoid(a) m = Mul(a, s) b = Conv(m, v) y = Add(b, m) }"
    _, db, proto = judged(build(text, w=f32(8, 8, 1, 1), v=f32(8, 8, 1, 1)), [{"x": f32(1, 8, 8, 8)} for _ in range(3)])
    scales = {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer if t.name.endswith("_scale")}
    assert scales["s_scale"] == np.float32(1 / 255)
    assert "m_scale" in scales
    assert db > LEAST_DB


def test_the_report_says_what_the_integers_keep_of_each_value() -> None:
    model = build("g (float[N,8] x) => (float[N,4] y) { y = MatMul(x, w) }", w=f32(8, 4))
    data = [{"x": f32(4096, 8)} for _ in range(3)]
    found = quantize(model, data=data, preset="full", method="percentile").report.tensors[0]
    given = np.concatenate([d["x"] for d in data])
    steps = np.clip(np.rint(given / found.scale) + found.zero_point, 0, 255)
    kept = sqnr_db(given, ((steps - found.zero_point) * found.scale).astype(np.float32))
    assert found.sqnr_db == pytest.approx(kept, abs=0.5)
    assert quantize(model, data=data, preset="full", method="minmax").report.tensors[0].sqnr_db is None
