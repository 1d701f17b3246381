"""Models in float16: near the original, narrow where they can be, wide where they must."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from exec.errors import OptionError
from exec.ir import load
from exec.metrics import difference
from passes.base import Safety
from passes.convert.float16 import to_float16
from passes.invariants import check_model
from passes.selftest import feeds_of, model_of, run

NET = """ g (float[1,3,8,8] x) => (float[1,4] y) <float[4,3,3,3] w, float[4] b, float[144,4] fc, int64[2] s = {1, 144}> {
    c = Conv (x, w, b)  r = Relu (c)  f = Reshape (r, s)  m = MatMul (f, fc)  y = Softmax (m) } """


def near(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    feeds: dict[str, Any] = feeds_of(before)
    got = run(after, feeds)
    for name, want in run(before, feeds).items():
        assert difference(want, np.asarray(got[name], np.float32)).within(
            Safety.ROUNDING.tolerance(np.dtype(np.float16), whole=True)
        )


def test_a_network_computes_nearly_the_same_in_half_the_bytes() -> None:
    proto = model_of(NET, 17)
    result = to_float16(load(proto))
    check_model(result.model)
    after = result.model.to_proto()
    onnx.checker.check_model(after, full_check=True)
    near(proto, after)
    assert result.casts == 2
    assert not result.kept
    assert {t.data_type for t in after.graph.initializer} == {onnx.TensorProto.FLOAT16, onnx.TensorProto.INT64}


def test_inputs_and_outputs_can_become_narrow_too() -> None:
    proto = model_of(NET, 17)
    result = to_float16(load(proto), keep_io=False)
    after = result.model.to_proto()
    onnx.checker.check_model(after, full_check=True)
    assert result.casts == 0
    kinds = [i.type.tensor_type.elem_type for i in (*after.graph.input, *after.graph.output)]
    assert kinds == [onnx.TensorProto.FLOAT16] * 2


def test_ops_that_must_stay_wide_do_and_say_why() -> None:
    text = """ g (float[1,1,4,4] x) => (float[1,1,8,8] y) <float[4] s = {1, 1, 2, 2}> { a = Relu (x)  b = Resize (a, , s)  y = Tanh (b) } """
    proto = model_of(text, 17)
    result = to_float16(load(proto))
    onnx.checker.check_model(result.model.to_proto(), full_check=True)
    assert [k[0] for k in result.kept] == ["Resize_1"]
    near(proto, result.model.to_proto())


def test_nodes_and_ops_can_be_kept_by_name() -> None:
    proto = model_of(NET, 17)
    result = to_float16(load(proto), block=["Softmax"], nodes=["MatMul_3"])
    assert [k for k, _ in result.kept] == ["MatMul_3", "Softmax_4"]
    near(proto, result.model.to_proto())
    with pytest.raises(OptionError, match="no node called 'nothing'"):
        to_float16(load(proto), nodes=["nothing"])


def test_weights_out_of_range_are_clipped_and_counted() -> None:
    proto = model_of(" g (float[2] x) => (float[2] y) <float[2] k = {100000, 1}> { y = Min (x, k) } ", 17)
    result = to_float16(load(proto))
    assert result.clipped == 1
    near(proto, result.model.to_proto())


def test_bodies_of_control_flow_stay_wide_and_get_what_they_capture_cast() -> None:
    text = """ g (bool c, float[2,3] x) => (float[2,3] y) { a = Relu (x)
        y = If (c) <then_branch = t () => (float[2,3] u) { u = Neg (a) }, else_branch = e () => (float[2,3] v) { v = Exp (a) }> } """
    proto = model_of(text, 17)
    result = to_float16(load(proto))
    check_model(result.model)
    onnx.checker.check_model(result.model.to_proto())
    near(proto, result.model.to_proto())


def test_the_argument_is_not_changed() -> None:
    model = load(model_of(NET, 17))
    before = model.to_proto().SerializeToString(deterministic=True)
    to_float16(model)
    assert model.to_proto().SerializeToString(deterministic=True) == before


def test_bfloat16_is_written_where_the_opset_has_it() -> None:
    proto = model_of(" g (float[2,3] x) => (float[2,3] y) <float[3,3] w> { a = MatMul (x, w)  y = Relu (a) } ", 17)
    result = to_float16(load(proto), "bfloat16")
    onnx.checker.check_model(result.model.to_proto(), full_check=True)
    near(proto, result.model.to_proto())
