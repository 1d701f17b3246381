"""Static int8: right numbers or a named finding, on models small enough to read."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from exec.errors import OptionError, QuantizationError
from quantize.report import QuantizeReport
from workbench import Model, Session, load, quantize
from workbench.samples import sample

R = np.random.default_rng(0)
LEAST_DB = 30.0  # 8-bit values of a well-scaled layer keep at least this


def build(text: str, opset: int = 17, **weights: Any) -> Model:
    proto = parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]> {text}')
    proto.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items())
    onnx.checker.check_model(proto, full_check=True)
    return load(proto)


def f32(*shape: int) -> Any:
    return R.standard_normal(shape).astype(np.float32)


def feeds(*shape: int, count: int = 4) -> list[dict[str, Any]]:
    return [{"x": f32(*shape)} for _ in range(count)]


def quantized(model: Model, data: Any, **options: Any) -> tuple[onnx.ModelProto, QuantizeReport]:
    """Quantize everything that can be; the result passes the checker and onnxruntime loads it."""
    result = quantize(model, data=data, preset="full", **options)
    proto = result.model.to_proto()
    onnx.checker.check_model(proto, full_check=True)
    return proto, result.report


def codes(report: QuantizeReport) -> set[str]:
    return {f.code for f in report.findings}


def counts(proto: onnx.ModelProto) -> dict[str, int]:
    ops = [n.op_type for n in proto.graph.node]
    return {op: ops.count(op) for op in ops}


CONV = "g (float[1,8,6,6] x) => (float[1,8,6,6] y) { a = Conv<pads=[1,1,1,1]>(x, w, b) y = Relu(a) }"


def test_a_conv_gets_u8_activations_s8_weights_per_channel_and_an_int32_bias() -> None:
    proto, report = quantized(build(CONV, w=f32(8, 8, 3, 3), b=f32(8)), feeds(1, 8, 6, 6))
    types = {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}
    assert types["w_quantized"].dtype == np.int8
    assert types["w_scale"].shape == (8,)
    assert types["b_quantized"].dtype == np.int32
    assert types["x_zero_point"].dtype == np.uint8
    assert report.outputs[0].sqnr_db > LEAST_DB


def test_the_value_is_quantized_behind_the_relu_so_that_zero_is_exact() -> None:
    proto, _ = quantized(build(CONV, w=f32(8, 8, 3, 3), b=f32(8)), feeds(1, 8, 6, 6))
    order = [n.op_type for n in proto.graph.node]
    assert order[-3:] == ["Relu", "QuantizeLinear", "DequantizeLinear"]
    assert numpy_helper.to_array(next(t for t in proto.graph.initializer if t.name == "y_zero_point")) == 0


def test_a_pool_between_two_convs_shares_their_scale() -> None:
    text = "g (float[1,8,8,8] x) => (float[1,4,2,2] y) { a = Conv(x, w) p = MaxPool<kernel_shape=[2,2],strides=[2,2]>(a) y = Conv<strides=[1,1]>(p, v) }"
    proto, _ = quantized(build(text, w=f32(8, 8, 3, 3), v=f32(4, 8, 2, 2)), feeds(1, 8, 8, 8))
    scales = {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer if t.name.endswith("_scale")}
    assert scales["p_scale"] == scales["a_scale"]


def test_the_argument_is_not_changed() -> None:
    model = build(CONV, w=f32(8, 8, 3, 3), b=f32(8))
    before = model.to_proto().SerializeToString(deterministic=True)
    quantize(model, data=feeds(1, 8, 6, 6), preset="full")
    assert model.to_proto().SerializeToString(deterministic=True) == before


@pytest.mark.parametrize("beta", [0.5, 2.0])
@pytest.mark.parametrize("shape", [(5,), (1, 5), (1,), (3, 1), (3, 5)], ids=str)
def test_gemm_takes_alpha_beta_and_every_legal_bias(beta: float, shape: tuple[int, ...]) -> None:
    model = build(
        f"g (float[3,16] x) => (float[3,5] y) {{ y = Gemm<alpha=0.5,beta={beta}>(x, w, c) }}",
        w=f32(16, 5),
        c=f32(*shape),
    )
    _, report = quantized(model, feeds(3, 16))
    assert report.outputs[0].sqnr_db > LEAST_DB
    assert ("Q020" in codes(report)) is (shape in ((3, 1), (3, 5)))


def test_one_weight_read_along_two_axes_is_stored_twice_and_said() -> None:
    text = "g (float[4,8] x) => (float[4,8] y, float[4,8] z) { y = Gemm<transB=1>(x, w) z = Gemm(x, w) }"
    _, report = quantized(build(text, w=f32(8, 8)), feeds(4, 8))
    assert all(o.sqnr_db > LEAST_DB for o in report.outputs)
    assert "Q022" in codes(report)


def test_weights_in_constant_nodes_are_found() -> None:
    proto = parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17]> g (float[4,16] x) => (float[4,16] y) { y = MatMul(x, w) }'
    )
    node = onnx.helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(f32(16, 16), "v"))
    proto.graph.node.insert(0, node)
    result, report = quantized(load(proto), feeds(4, 16))
    assert len(report.nodes) == 1
    assert report.after_bytes < report.before_bytes / 2
    assert "Constant" not in counts(result)


def test_a_shared_bias_whose_copy_would_collide_with_a_name_does_not() -> None:
    text = "g (float[2,8] x) => (float[2,4] y, float[2,4] z) { y = Gemm(x, w, c) t = Mul(x, s) z = Gemm(t, v, c) }"
    proto, report = quantized(build(text, w=f32(8, 4), v=f32(8, 4), c=f32(4), s=np.float32(3)), feeds(2, 8))
    assert all(o.sqnr_db > LEAST_DB for o in report.outputs)
    names = [t.name for t in proto.graph.initializer] + [o for n in proto.graph.node for o in n.output]
    assert len(names) == len(set(names))


def test_a_relu_that_was_dead_in_calibration_stays_zero_with_s8_activations() -> None:
    model = build(CONV, w=-np.abs(f32(8, 8, 3, 3)), b=-np.ones(8, np.float32))
    result = quantize(model, data=[{"x": np.abs(f32(1, 8, 6, 6))}], preset="full", activations="s8")
    assert "Q010" in codes(result.report)
    got = Session(result.model).run({"x": np.zeros((1, 8, 6, 6), np.float32)})["y"]
    assert not np.asarray(got).any()


def test_mask_values_are_left_out_of_a_range() -> None:
    model = build("g (float[2,8] x) => (float[2,4] y) { y = MatMul(x, w) }", w=f32(8, 4))
    data = feeds(2, 8)
    data[1]["x"][0, 0] = -np.inf
    _, report = quantized(model, data)
    assert "Q012" in codes(report)
    assert all(abs(t.low) < 100 for t in report.tensors)


def test_nan_in_calibration_names_the_tensor_and_the_sample() -> None:
    data = feeds(2, 8)
    data[2]["x"][1, 1] = np.nan
    with pytest.raises(QuantizationError) as caught:
        quantize(
            build("g (float[2,8] x) => (float[2,4] y) { y = MatMul(x, w) }", w=f32(8, 4)), data=data, preset="full"
        )
    assert "sample 2" in caught.value.what
    assert caught.value.where == "tensor x"


def test_an_exclude_name_that_does_not_exist_is_an_error_with_near_names() -> None:
    model = build("g (float[2,8] x) => (float[2,4] y) { y = MatMul(x, w) }", w=f32(8, 4))
    with pytest.raises(OptionError) as caught:
        quantize(model, data=feeds(2, 8), exclude=["MatMul_1"])
    assert "MatMul_0" in caught.value.hint


def test_unnamed_nodes_get_stable_names_and_can_be_left_out() -> None:
    model = build("g (float[2,8] x) => (float[2,4] y) { t = MatMul(x, v) y = MatMul(t, w) }", v=f32(8, 8), w=f32(8, 4))
    _, report = quantized(model, feeds(2, 8), exclude=["MatMul_0"])
    assert [n.name for n in report.nodes] == ["MatMul_1"]
    assert report.of("Q006")[0].node == "MatMul_0"


def test_an_already_quantized_model_is_recognised() -> None:
    model = build(CONV, w=f32(8, 8, 3, 3), b=f32(8))
    once = quantize(model, data=feeds(1, 8, 6, 6), preset="full").model
    assert "Q002" in codes(quantize(once, data=feeds(1, 8, 6, 6), preset="full").report)


def test_float64_and_computed_weights_stay_float_with_a_reason() -> None:
    double = build("g (double[2,8] x) => (double[2,4] y) { y = MatMul(x, w) }", w=R.standard_normal((8, 4)))
    report = quantize(double, data=[{"x": R.standard_normal((2, 8))}], preset="full").report
    assert {"Q005", "Q050"} <= codes(report)
    both = build("g (float[2,8] x, float[8,4] w) => (float[2,4] y) { y = MatMul(x, w) }")
    report = quantize(both, data=[{"x": f32(2, 8), "w": f32(8, 4)}], preset="full").report
    assert {"Q004", "Q050"} <= codes(report)


def test_samples_of_different_length_all_count() -> None:
    model = build("g (float[N,8] x) => (float[N,4] y) { y = MatMul(x, w) }", w=f32(8, 4))
    data = [{"x": f32(n, 8) * n} for n in (1, 3, 7)]
    for method in ("minmax", "percentile", "entropy", "mse", "moving-average"):
        _, report = quantized(model, data, method=method)
        assert report.samples == 3
        assert report.tensors[0].samples == 3


def test_calibration_methods_really_differ() -> None:
    heavy = [{"x": (R.standard_t(2, (4096, 8))).astype(np.float32)} for _ in range(8)]
    model = build("g (float[N,8] x) => (float[N,4] y) { y = MatMul(x, w) }", w=f32(8, 4))
    ranges = {
        m: quantize(model, data=heavy, preset="full", method=m).report.tensors[0].high
        for m in ("minmax", "percentile", "entropy", "mse", "moving-average")
    }
    assert len({round(v, 4) for v in ranges.values()}) == len(ranges)


@pytest.mark.parametrize("text", ["y = MatMul(x, w)", "y = Gemm(x, w)"])
def test_onnxruntime_computes_what_the_embedded_engine_does(text: str) -> None:
    ort = pytest.importorskip("onnxruntime")
    proto, _ = quantized(build(f"g (float[4,16] x) => (float[4,8] y) {{ {text} }}", w=f32(16, 8)), feeds(4, 16))
    given = feeds(4, 16, count=1)[0]
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    want = ort.InferenceSession(proto.SerializeToString(), options).run(None, given)[0]
    got = Session(load(proto)).run(given)["y"]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def accuracy(model: Model, images: Any, labels: Any) -> float:
    logits = next(iter(Session(model).run({model.inputs[0].name: images}).values()))
    return float((np.asarray(logits).argmax(1) == labels).mean())


@pytest.mark.parametrize("name", ["digits_cnn", "digits_mobile", "digits_attention_ts", "digits_attention_dynamo"])
def test_held_out_accuracy_of_the_samples_stays_within_half_a_point(name: str) -> None:
    model = load(sample(f"{name}.onnx"))
    with np.load(sample("digits.npz")) as data:
        images, labels, calibration = data["heldout_images"], data["heldout_labels"], data["calibration_images"]
    result = quantize(model, data=[{model.inputs[0].name: image[None]} for image in calibration[:64]])
    assert accuracy(model, images, labels) - accuracy(result.model, images, labels) <= 0.005
