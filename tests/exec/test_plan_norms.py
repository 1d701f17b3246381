"""Normalisations and reductions as a plan lowers them, by shape, attribute and opset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from exec.compiled import available
from exec.ir import load
from exec.session import Session

SEEDS = st.integers(0, 1 << 16)
KERNELS = ("numpy", "compiled") if available() else ("numpy",)


def drawn(seed: int, *shape: int) -> Any:
    return np.asarray(np.random.default_rng(seed).normal(size=shape), np.float32)


@pytest.fixture(scope="session")
def one(proto: Any) -> Callable[..., onnx.ModelProto]:
    """one(op, weights, opset, **attributes): y = op(−x, *weights)."""

    def made(op: str, weights: dict[str, Any], opset: int = 21, rank: int = 4, **attributes: Any) -> onnx.ModelProto:
        shape = ",".join("abcdef"[:rank])
        model: onnx.ModelProto = proto(
            f"g (float[{shape}] x) => (float y) {{ n = Neg(x) y = Identity(n) }}", opset=opset, **weights
        )
        del model.graph.node[1:]
        model.graph.node.append(helper.make_node(op, ["n", *weights], ["y"], **attributes))
        return model

    return made


@settings(max_examples=25)
@given(samples=st.integers(1, 3), channels=st.integers(1, 5), size=st.lists(st.integers(1, 20), min_size=1, max_size=3),
       epsilon=st.sampled_from([1e-5, 1e-2]), opset=st.sampled_from([6, 21, 22]), seed=SEEDS)  # fmt: skip
def test_instance_normalization(
    samples: int, channels: int, size: Any, epsilon: float, opset: int, seed: int, one: Any, agree: Any
) -> None:
    x = drawn(seed, samples, channels, *size) * 2 + 3
    weights = {"s": drawn(seed + 1, channels), "b": drawn(seed + 2, channels)}
    model = one("InstanceNormalization", weights, opset, x.ndim, epsilon=epsilon)
    agree(model, {"x": x}, fuse=(True,), more=[{"x": -x}])


@settings(max_examples=25)
@given(samples=st.integers(1, 3), groups=st.integers(1, 4), inner=st.integers(1, 4),
       size=st.lists(st.integers(1, 12), min_size=1, max_size=3), opset=st.sampled_from([18, 21]), seed=SEEDS)  # fmt: skip
def test_group_normalization(
    samples: int, groups: int, inner: int, size: Any, opset: int, seed: int, one: Any, agree: Any
) -> None:
    x, count = drawn(seed, samples, groups * inner, *size), groups if opset == 18 else groups * inner
    weights = {"s": drawn(seed + 1, count), "b": drawn(seed + 2, count)}
    model = one("GroupNormalization", weights, opset, x.ndim, num_groups=groups, epsilon=1e-3)
    agree(model, {"x": x}, engine="reference", fuse=(True,))


@settings(max_examples=15)
@given(shape=st.tuples(*[st.integers(1, 9)] * 4), axes=st.sampled_from([[0, 2, 3], [2, 3], [1], [-1], [0, 1, 2, 3]]), seed=SEEDS)  # fmt: skip
def test_mean_variance_normalization(shape: Any, axes: list[int], seed: int, one: Any, compute: Any) -> None:
    x = drawn(seed, *shape) + 1
    wide = -x.astype(np.float64)
    over = tuple(axes)
    want = (wide - wide.mean(over, keepdims=True)) / (wide.std(over, keepdims=True) + 1e-9)
    got = compute(one("MeanVarianceNormalization", {}, 13, axes=axes), {"x": x})
    spread = wide.std(over, keepdims=True)
    np.testing.assert_allclose(got * (spread > 1e-3), want * (spread > 1e-3), atol=1e-3)


@pytest.fixture(scope="session")
def compute() -> Callable[..., Any]:
    """compute(model, feeds): its only output, by numpy."""
    return lambda model, feeds: Session(load(model), kernels="numpy").run(feeds)["y"]


@pytest.mark.parametrize("kernels", KERNELS)
def test_statistics_of_values_far_from_zero_keep_their_digits(kernels: str, one: Any) -> None:
    x = drawn(0, 2, 3, 50) + 1000
    model = one("InstanceNormalization", {"s": np.ones(3, "f"), "b": np.zeros(3, "f")}, rank=3)
    wide = -x.astype(np.float64)
    want = (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(Session(load(model), kernels=kernels).run({"x": x})["y"], want, atol=1e-3)


@pytest.mark.parametrize("affine", ["none", "scale", "both"])
def test_instances_of_one_axis_then_vectors_are_a_layer_norm(affine: str, proto: Any, agree: Any) -> None:
    tail = {"none": "y = Neg(z)", "scale": "y = Mul(z, g)", "both": "t = Mul(g, z) y = Add(t, c)"}[affine]
    model = proto(
        f"g (float[N,5,48] x) => (float[N,5,48] y) {{ z = InstanceNormalization(x, s, b) {tail} }}",
        opset=14, s=np.ones(5, "f"), b=np.zeros(5, "f"), g=drawn(1, 48), c=drawn(2, 48),
    )  # fmt: skip
    session = Session(load(model), kernels="numpy")
    feeds = {"x": drawn(0, 3, 5, 48) * 3 + 5}
    agree(model, feeds)
    session.run(feeds)
    steps = {unit.op for plan in session._plans.values() for unit in plan.units}
    assert ("LayerNormalization" in steps) == (affine != "none")


@settings(max_examples=40)
@given(op=st.sampled_from(["ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp", "ReduceProd"]),
       shape=st.lists(st.integers(1, 12), min_size=1, max_size=4), keep=st.integers(0, 1), opset=st.sampled_from([11, 13, 18]),
       data=st.data(), seed=SEEDS)  # fmt: skip
def test_reductions(
    op: str, shape: Any, keep: int, opset: int, data: st.DataObject, seed: int, one: Any, agree: Any
) -> None:
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, max_size=len(shape), unique=True))
    x = -np.abs(drawn(seed, *shape)) - np.float32(0.1)
    weights = {"axes": np.array(axes)} if opset >= 18 else {}
    attributes = {} if opset >= 18 else {"axes": axes}
    agree(one(op, weights, opset, x.ndim, keepdims=keep, **attributes), {"x": x}, fuse=(True,))


@settings(max_examples=20)
@given(size=st.integers(1, 3), grid=st.tuples(st.integers(1, 4), st.integers(1, 4)), channels=st.integers(1, 4), samples=st.integers(1, 2), seed=SEEDS)  # fmt: skip
def test_space_to_depth(size: int, grid: Any, channels: int, samples: int, seed: int, one: Any, agree: Any) -> None:
    x = drawn(seed, samples, channels, grid[0] * size, grid[1] * size)
    agree(one("SpaceToDepth", {}, 13, blocksize=size), {"x": x}, fuse=(True,))
