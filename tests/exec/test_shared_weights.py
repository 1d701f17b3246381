"""One weight read by several nodes: each gets it in the layout it needs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser
from onnx.reference import ReferenceEvaluator

from exec.ir import load
from exec.session import Session


@pytest.mark.parametrize(
    "body",
    [
        "y = Gemm<transB=1>(x, w) z = Gemm(x, w)",
        "y = MatMul(x, w) z = Gemm<transB=1>(x, w)",
        "y = MatMul(x, w) t = Transpose(w) z = MatMul(x, t)",
        "y = Gemm<alpha=2.0>(x, w) z = Gemm(x, w)",
        "y = Mul(x, w) z = MatMul(w, x)",
    ],
)
def test_every_reader_sees_its_own_layout(body: str) -> None:
    rng = np.random.default_rng(0)
    proto = parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 17]> g (float[8,8] x) => (float[8,8] y, float[8,8] z) {{ {body} }}'
    )
    proto.graph.initializer.append(numpy_helper.from_array(rng.standard_normal((8, 8)).astype(np.float32), "w"))
    onnx.checker.check_model(proto, full_check=True)
    feeds = {"x": rng.standard_normal((8, 8)).astype(np.float32)}
    want = ReferenceEvaluator(proto).run(None, feeds)
    for got, expected in zip(Session(load(proto)).run(feeds).values(), want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
