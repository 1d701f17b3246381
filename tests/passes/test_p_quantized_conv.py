"""A Conv between DequantizeLinear and QuantizeLinear becomes a QLinearConv when asked, and what does not fit says why."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from exec.ir import load
from passes.optimize import optimize
from passes.selftest import run


def quantized(bias_scale: float = 0.0002, *, per_channel: bool = False, zero: bool = True) -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    scale = np.float32([0.01, 0.02, 0.03]) if per_channel else np.float32(0.01)
    bias = np.float32(bias_scale) * (scale / np.float32(0.01))
    constants = {
        "sx": np.float32(0.02), "zx": np.uint8(128), "w": rng.integers(-100, 100, (3, 2, 3, 3)).astype(np.int8),
        "sw": scale, "b": rng.integers(-5000, 5000, 3).astype(np.int32), "sb": bias, "sy": np.float32(0.0511), "zy": np.uint8(100),
    }  # fmt: skip
    axis = {"axis": 0} if per_channel else {}
    node: Any = helper.make_node
    nodes = [
        node("DequantizeLinear", ["x", "sx", "zx"] if zero else ["x", "sx"], ["a"]),
        node("DequantizeLinear", ["w", "sw"], ["wf"], **axis),
        node("DequantizeLinear", ["b", "sb"], ["bf"], **axis),
        node("Conv", ["a", "wf", "bf"], ["c"], strides=[2, 2]),
        node("QuantizeLinear", ["c", "sy", "zy"] if zero else ["c", "sy"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 2, 9, 9])
    y = helper.make_tensor_value_info("y", TensorProto.UINT8, [1, 3, 4, 4])
    made = helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(v, k) for k, v in constants.items()])
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def fused(proto: onnx.ModelProto) -> onnx.ModelProto:
    return optimize(load(proto), "fuse-quantized-conv", verify=False).model.to_proto()


@pytest.mark.parametrize("zero", [True, False])
@pytest.mark.parametrize("per_channel", [True, False])
def test_the_integers_are_the_same_up_to_one_step(per_channel: bool, zero: bool) -> None:
    proto = quantized(per_channel=per_channel, zero=zero)
    after = fused(proto)
    assert [n.op_type for n in after.graph.node] == ["QLinearConv"]
    onnx.checker.check_model(after, full_check=True)
    feeds = {"x": np.random.default_rng(1).integers(0, 256, (1, 2, 9, 9)).astype(np.uint8)}
    want, got = (run(m, feeds)["y"].astype(np.int64) for m in (proto, after))
    assert np.abs(want - got).max() <= 1
    assert (want == got).mean() > 0.9
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(after.SerializeToString(), providers=["CPUExecutionProvider"])
    assert np.abs(session.run(None, feeds)[0].astype(np.int64) - want).max() <= 1


def test_a_bias_in_other_steps_is_refused_with_the_reason() -> None:
    report = optimize(load(quantized(0.0003)), "fuse-quantized-conv", verify=False).report
    assert not report.applied
    assert [r.reason for r in report.refused] == [
        "the bias is no int32 in steps of the input's scale times the weight's"
    ]


def test_by_default_the_pattern_stays_as_runtimes_look_for_it() -> None:
    after = optimize(load(quantized())).model.to_proto()
    assert {n.op_type for n in after.graph.node} == {"DequantizeLinear", "Conv", "QuantizeLinear"}
