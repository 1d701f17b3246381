"""float16 carried in float32 is rounded bit for bit as numpy rounds it, and nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from exec.arrays import Array
from exec.ir import load
from exec.session import Session

HALF = TensorProto.FLOAT16


def session(nodes: list[Any], shapes: dict[str, Any], weights: dict[str, Array] | None = None) -> Session:
    """A numpy session of float16 inputs, and one float16 output y."""
    inputs = [helper.make_tensor_value_info(n, HALF, s) for n, s in shapes.items()]
    outputs = [helper.make_tensor_value_info("y", HALF, None)]
    stored = [helper.make_tensor(n, helper.np_dtype_to_tensor_dtype(w.dtype), w.shape, w.tobytes(), raw=True)
              for n, w in (weights or {}).items()]  # fmt: skip
    graph = helper.make_graph(nodes, "g", inputs, outputs, stored)
    return Session(
        load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)), kernels="numpy"
    )


def patterns(seed: int, most: float = np.inf, size: int = 70_000) -> Array:
    """Random bits as float16, no larger than `most`; NaN and infinities among them if it is infinite."""
    values = np.random.default_rng(seed).integers(0, 1 << 16, size, dtype=np.uint16).view(np.float16)
    return values if most == np.inf else np.where(np.abs(values) <= most, values, np.float16(-0.0)).astype(np.float16)


def same_bits(got: Any, want: Array) -> None:
    assert got.dtype == want.dtype == np.float16
    number = ~np.isnan(want)
    assert np.array_equal(np.isnan(got), ~number)
    assert np.array_equal(got.view(np.uint16)[number], want.view(np.uint16)[number])


@pytest.mark.parametrize("most", [np.inf, 60000.0, 64.0, 2.0**-13])
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul"])
def test_every_kind_of_number_is_rounded_as_numpy_rounds_it(op: str, most: float) -> None:
    x, y = patterns(1, most), patterns(2, most)
    ours = session([helper.make_node(op, ["a", "b"], ["y"])], {"a": x.shape, "b": y.shape})
    with np.errstate(all="ignore"):
        want = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}[op](x, y)
    same_bits(ours.run({"a": x, "b": y})["y"], want)


@pytest.mark.parametrize("most", [np.inf, 64.0, 2.0**-13])
def test_a_product_whose_zeros_are_hidden_by_a_sum_is_rounded_alike(most: float) -> None:
    x = patterns(3, most)
    weights = {"s": np.asarray(-0.3, np.float16), "b": np.asarray(0.7, np.float16)}
    nodes = [helper.make_node("Mul", ["a", "s"], ["m"]), helper.make_node("Add", ["m", "b"], ["y"])]
    ours = session(nodes, {"a": x.shape}, weights)
    with np.errstate(all="ignore"):
        want = (x * weights["s"]) + weights["b"]
    same_bits(ours.run({"a": x})["y"], want)


@pytest.mark.parametrize("added", [None, 0.0, -0.0])
def test_the_sign_of_a_zero_that_is_divided_by_stays(added: float | None) -> None:
    x = np.array([-1e-7, 1e-7, -0.0, 0.0, 1.0], np.float16)
    weights = {"s": np.asarray(1e-3, np.float16), "b": np.asarray(added or 0.0, np.float16)}
    if added is not None and np.signbit(added):
        weights["b"] = np.asarray(-0.0, np.float16)
    middle = [] if added is None else [helper.make_node("Add", ["m", "b"], ["t"])]
    nodes = [helper.make_node("Mul", ["a", "s"], ["m"]), *middle]
    nodes.append(helper.make_node("Reciprocal", ["t" if middle else "m"], ["y"]))
    ours = session(nodes, {"a": x.shape}, weights)
    with np.errstate(all="ignore"):
        product = x * weights["s"]
        want = np.reciprocal(product if added is None else product + weights["b"])
    same_bits(ours.run({"a": x})["y"], want)


def roundings(ours: Session, feeds: dict[str, Array]) -> int:
    with ours.ready(feeds) as (plan, _):
        return sum("round" in getattr(getattr(s, "func", None), "__name__", "") for s in plan.steps)


def test_what_was_float16_and_was_only_moved_is_not_rounded_again() -> None:
    x = patterns(4, 100.0, 3 * 8 * 8).reshape(1, 3, 8, 8)
    nodes = [
        helper.make_node("Cast", ["a"], ["w"], to=TensorProto.FLOAT),
        helper.make_node("Resize", ["w", "", "scales"], ["r"], mode="nearest"),
        helper.make_node("Cast", ["r"], ["y"], to=HALF),
    ]
    ours = session(nodes, {"a": x.shape}, {"scales": np.array([1, 1, 2, 2], np.float32)})
    same_bits(ours.run({"a": x})["y"], x.repeat(2, 2).repeat(2, 3))
    assert roundings(ours, {"a": x}) == 0


def test_places_counted_by_a_pool_are_rounded() -> None:
    x = patterns(5, 100.0, 100 * 100).reshape(1, 1, 100, 100)
    nodes = [
        helper.make_node("Cast", ["a"], ["w"], to=TensorProto.FLOAT),
        helper.make_node("MaxPool", ["w"], ["p", "places"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Cast", ["places"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["f"], ["y"], to=HALF),
    ]
    got = session(nodes, {"a": x.shape}).run({"a": x})["y"]
    blocks = np.float32(x).reshape(50, 2, 50, 2).transpose(0, 2, 1, 3).reshape(50, 50, 4).argmax(2)
    rows, columns = np.indices((50, 50))
    places = (2 * rows + blocks // 2) * 100 + 2 * columns + blocks % 2
    same_bits(got, places.reshape(1, 1, 50, 50).astype(np.float16))
