"""Weights of two models side by side."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.reference
import pytest
from onnx import TensorProto, helper, numpy_helper

import workbench as wb
from workbench.samples import sample
from workbench.tensors import tensor_rows
from workbench.weightpairs import floats, pair_up, scaled, weight_difference


def test_every_weight_of_a_quantized_model_has_its_float_one() -> None:
    a = wb.load(sample("digits_cnn.onnx"))
    b = wb.quantize(a).model
    (rows_a, before), (rows_b, after) = tensor_rows(a), tensor_rows(b)
    pairs = {rows_b[p.after].name: p for p in pair_up(before, after) if p.after is not None}
    quantized = [p for name, p in pairs.items() if name.endswith("weight_2_quantized")]
    assert quantized
    for p in quantized:
        assert p.before is not None
        assert rows_a[p.before].shape == rows_b[p.after].shape  # type: ignore[index]
        assert rows_a[p.before].name == rows_b[p.after].name.removesuffix("_2_quantized")  # type: ignore[index]
    assert pairs["/Relu_output_0_scale"].before is None


def test_gone_weights_come_last() -> None:
    a = wb.load(sample("digits_cnn.onnx"))
    b = wb.optimize(a).model
    pairs = pair_up(tensor_rows(a)[1], tensor_rows(b)[1])
    gone = [p for p in pairs if p.after is None]
    assert pairs[-len(gone) :] == gone
    assert len({p.before for p in pairs if p.before is not None}) == len(tensor_rows(a)[1])


@pytest.mark.parametrize(("axis", "block"), [(None, 0), (0, 0), (1, 0), (1, 2)])
def test_values_are_what_the_specification_dequantizes(axis: int | None, block: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(-100, 100, (4, 6)).astype(np.int8)
    shape = () if axis is None else (4, 3) if block else (values.shape[axis],)
    scale, zero = rng.uniform(0.01, 0.1, shape).astype(np.float32), rng.integers(-3, 3, shape).astype(np.int8)
    attributes = {} if axis is None else {"axis": axis, **({"block_size": block} if block else {})}
    node = helper.make_node("DequantizeLinear", ["w", "s", "z"], ["y"], **attributes)
    inits = [numpy_helper.from_array(v, n) for v, n in ((values, "w"), (scale, "s"), (zero, "z"))]
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 6])
    proto = helper.make_model(
        helper.make_graph([node], "g", [], [out], inits), opset_imports=[helper.make_opsetid("", 21)]
    )
    weight = next(w for w in tensor_rows(wb.load(proto.SerializeToString()))[1] if w.name == "w")
    (want,) = onnx.reference.ReferenceEvaluator(proto).run(None, {})
    assert np.array_equal(floats(weight), want)
    how = scaled(weight)
    assert how is not None
    assert how.axis == axis


def test_equal_weights_do_not_differ() -> None:
    weights = tensor_rows(wb.load(sample("digits_cnn.onnx")))[1]
    assert weight_difference(weights[0], weights[0]).equal
