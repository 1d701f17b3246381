"""Declared shapes are claims: what follows from the graph is written, what contradicts it is named."""

from __future__ import annotations

import onnx
from onnx import parser

from exec.ir import Model, load
from passes.convert.infer_shapes import infer_shapes


def model(text: str) -> Model:
    return load(parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'))


def declared(result: Model) -> dict[str, list[int | str]]:
    proto = result.to_proto()
    onnx.checker.check_model(proto, full_check=True)
    return {
        v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim]
        for v in (*proto.graph.value_info, *proto.graph.output)
    }


def test_symbols_flow_through_shape_arithmetic() -> None:
    text = "g (float[N,3,4] x) => (float[N,12] y) <int64[1] zero = {0}, int64[1] rest = {-1}> { s = Shape(x) n = Gather(s, zero) t = Concat<axis=0>(n, rest) r = Relu(x) y = Reshape(r, t) }"
    found = declared(infer_shapes(model(text)).model)
    assert found["r"] == ["N", 3, 4]
    assert found["y"] == ["N", 12]


def test_a_wrong_claim_is_replaced_and_named() -> None:
    source = model("g (float[2,3] x) => (float[2,3] y) { t = Relu(x) y = Neg(t) }").to_proto()
    source.graph.value_info.append(onnx.helper.make_tensor_value_info("t", onnx.TensorProto.FLOAT, [7, 3]))
    result = infer_shapes(load(source))
    assert [w.value for w in result.wrong] == ["t"]
    assert declared(result.model)["t"] == [2, 3]


def test_the_argument_is_not_changed() -> None:
    source = model("g (float[2,3] x) => (float[2,3] y) { t = Relu(x) y = Neg(t) }")
    before = source.to_proto().SerializeToString(deterministic=True)
    infer_shapes(source)
    assert source.to_proto().SerializeToString(deterministic=True) == before
