"""Rules over integers at the ends of their types, where magnitudes wrap and scales overflow."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import parser

from exec.ir import load
from passes.optimize import optimize
from passes.selftest import run

CASES = {
    "Relu of Abs of int8": ("g (int8[3] x) => (int8[3] y) { a = Abs (x)  y = Relu (a) }", np.int8([-128, -3, 7])),
    "Relu before signed": (
        "g (float[4] x) => (int8[4] y) <float s = {0.1}> { a = Relu (x)  y = QuantizeLinear <output_dtype = 3> (a, s) }",
        np.float32([-9.0, -0.3, 0.2, 4.0]),
    ),
    "quantized twice, scale overflows": (
        "g (uint8[2] x) => (uint8[2] y) <float16 s = {24528}> { a = DequantizeLinear (x, s)  y = QuantizeLinear (a, s) }",
        np.uint8([3, 200]),
    ),
    "quantized twice, scale too coarse": (
        "g (int16[2] x) => (int16[2] y) <float16 s = {13517}, int16 z = {0}> { a = DequantizeLinear (x, s, z)  y = QuantizeLinear (a, s, z) }",
        np.int16([30001, 5]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bits_are_kept_without_verification(name: str) -> None:
    body, x = CASES[name]
    proto: onnx.ModelProto = parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {body}')
    after = optimize(load(proto), verify=False).model.to_proto()
    np.testing.assert_array_equal(run(after, {"x": x})["y"], run(proto, {"x": x})["y"])
