"""A shape of which only the length is declared: its length is a rank only where an array can have it."""

from __future__ import annotations

import onnx
import pytest
from onnx import parser

from exec.ir import load
from workbench.shapes import inferred

MAKERS = {"Reshape": "Reshape (x, s)", "Expand": "Expand (x, s)", "ConstantOfShape": "ConstantOfShape (s)"}


@pytest.mark.parametrize(("length", "rank"), [(3, 3), (1 << 40, None)])
@pytest.mark.parametrize("op", MAKERS)
def test_a_declared_length_is_a_rank_if_it_can_be(op: str, length: int, rank: int | None) -> None:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[6] x, int64[{length}] s) => (float y) {{ t = {MAKERS[op]} y = Neg (t) }}'
    proto: onnx.ModelProto = parser.parse_model(text)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    model = load(proto, strict=False)
    (shape,) = [inferred(model)[id(t)][1] for n in model.graph.nodes[:1] for t in n.outputs]
    assert (None if shape is None else len(shape)) == rank
