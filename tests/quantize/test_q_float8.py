"""float8: weights and activations in e4m3, at an opset that has it, right in onnxruntime."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from exec.errors import OptionError
from exec.metrics import sqnr_db
from workbench import Model, Session, load, quantize

R = np.random.default_rng(17)
LEAST_DB = 22.0  # 3 bits of mantissa


def f32(*shape: int) -> Any:
    return R.standard_normal(shape).astype(np.float32)


def conv(clamp: str = "Relu(a)", **bounds: Any) -> Model:
    text = f"g (float[1,8,6,6] x) => (float[1,8,6,6] y) {{ a = Conv(x, w, b) r = {clamp} y = Conv(r, v, c) }}"
    proto = parser.parse_model(f'<ir_version: 9, opset_import: ["" : 17]> {text}')
    weights = {"w": f32(8, 8, 1, 1), "b": f32(8), "v": f32(8, 8, 1, 1), "c": f32(8), **bounds}
    proto.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items())
    return load(proto)


CLAMPS = {
    "Relu": conv(),
    "Clip": conv("Clip(a, low, high)", low=np.float32(0), high=np.float32(1)),
    "a Clip above 0": conv("Clip(a, low)", low=np.float32(0.5)),
    "a Clip below 0": conv("Clip(a, low, high)", low=np.float32(-2), high=np.float32(-0.5)),
}


@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("clamp", CLAMPS)
def test_a_clamp_before_float8_is_not_lost_in_onnxruntime(clamp: str, per_channel: bool) -> None:
    ort = pytest.importorskip("onnxruntime")
    model = CLAMPS[clamp]
    data = [{"x": f32(1, 8, 6, 6)} for _ in range(3)]
    result = quantize(model, data=data, preset="full", activations="f8", weights="f8", per_channel=per_channel)
    proto = result.model.to_proto()
    onnx.checker.check_model(proto, full_check=True)
    assert {t.data_type for t in proto.graph.initializer if len(t.dims) == 4} == {onnx.TensorProto.FLOAT8E4M3FN}
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    for sample in data:
        assert sqnr_db(Session(model).run(sample)["y"], session.run(None, sample)[0]) > LEAST_DB
    assert result.report.opset == (17, 19)


def test_weights_alone_in_float8_are_the_nearest_of_the_type() -> None:
    proto = parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17]> g (float[2,64] x) => (float[2,8] y) { y = MatMul(x, w) }'
    )
    weight = f32(64, 8)
    proto.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    result = quantize(load(proto), "weight-only", [{"x": f32(2, 64)}], weights="f8")
    stored = {t.name: t for t in (i for n in result.model.graph.nodes for i in n.inputs) if t.name.startswith("w_")}
    scale = stored["w_scale"].values
    want = (weight / scale).astype(ml_dtypes.float8_e4m3fn)
    np.testing.assert_array_equal(stored["w_quantized"].values.astype(np.float32), want.astype(np.float32))


@pytest.mark.parametrize(
    "options", [{"activations": "f8"}, {"weights": "f8"}, {"activations": "f8", "weights": "f8", "format": "qoperator"}, {"activations": "f8", "weights": "f8", "opset": 17}]
)  # fmt: skip
def test_what_float8_cannot_be_combined_with_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        quantize(conv(), data=[{"x": f32(1, 8, 6, 6)}], **options)
