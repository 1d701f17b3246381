"""What the plan does its own way: products, rows, pools, moves, recurrences, narrow floats and bytes, by shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import helper

SEEDS = st.integers(0, 1 << 16)


def model_of(
    proto: Any, nodes: list[Any], inputs: dict[str, Any], outputs: list[str], weights: dict[str, Any], opset: int = 21
) -> Any:
    """A model of `nodes` whose inputs look like the arrays given."""
    model = proto("g (float x) => (float y) { y = Identity(x) }", opset=opset, **weights)
    del model.graph.node[:], model.graph.input[:], model.graph.output[:]
    model.graph.node.extend(nodes)
    model.graph.input.extend(
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in inputs.items()
    )
    model.graph.output.extend(helper.make_value_info(n, onnx.TypeProto()) for n in outputs)
    return model


def drawn(seed: int, *shape: int) -> Any:
    return np.asarray(np.random.default_rng(seed).normal(size=shape), np.float32)


# Products


@settings(max_examples=40)
@given(rows=st.integers(1, 40), depth=st.integers(1, 70), columns=st.integers(1, 70), batch=st.sampled_from([(), (1,), (3,), (2, 2)]),
       constant=st.booleans(), after=st.sampled_from(["none", "bias", "relu", "gelu", "residual"]), seed=SEEDS)  # fmt: skip
def test_matmul(
    rows: int, depth: int, columns: int, batch: Any, constant: bool, after: str, seed: int, proto: Any, agree: Any
) -> None:
    feeds = {"x": drawn(seed, *batch, rows, depth)}
    weights = {"b": drawn(seed + 1, columns)}
    (weights if constant else feeds)["w"] = drawn(seed + 2, depth, columns)
    tails = {
        "none": [],
        "bias": [helper.make_node("Add", ["m", "b"], ["t"])],
        "relu": [helper.make_node("Add", ["b", "m"], ["a"]), helper.make_node("Relu", ["a"], ["t"])],
        "gelu": [helper.make_node("Add", ["m", "b"], ["a"]), helper.make_node("Gelu", ["a"], ["t"])],
        "residual": [helper.make_node("Add", ["m", "b"], ["a"]), helper.make_node("Add", ["a", "r"], ["t"])],
    }
    if after == "residual":
        feeds["r"] = drawn(seed + 3, *batch, rows, columns)
    last = "m" if after == "none" else "t"
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), *tails[after], helper.make_node("Identity", [last], ["y"])]
    agree(model_of(proto, nodes, feeds, ["y"], weights), feeds, fuse=(True,))


@pytest.mark.parametrize("left", [(7,), (5, 7), (2, 5, 7), (1, 2, 5, 7), (3, 1, 5, 7)])
@pytest.mark.parametrize("right", [(7,), (7, 4), (2, 7, 4), (2, 2, 7, 4)])
def test_matmul_broadcasts(left: Any, right: Any, proto: Any, agree: Any) -> None:
    try:
        np.matmul(np.ones(left), np.ones(right))
    except ValueError:
        pytest.skip("shapes that do not fit")
    feeds = {"x": drawn(0, *left), "w": drawn(1, *right)}
    agree(model_of(proto, [helper.make_node("MatMul", ["x", "w"], ["y"])], feeds, ["y"], {}), feeds, fuse=(True,))


@settings(max_examples=40)
@given(rows=st.integers(1, 33), depth=st.integers(1, 50), columns=st.integers(1, 50), flips=st.tuples(st.booleans(), st.booleans()),
       alpha=st.sampled_from([1.0, 0.5]), beta=st.sampled_from([1.0, 0.0, 2.0]), bias=st.sampled_from(["none", "row", "column", "full", "scalar"]),
       constant=st.booleans(), seed=SEEDS)  # fmt: skip
def test_gemm(
    rows: int,
    depth: int,
    columns: int,
    flips: Any,
    alpha: float,
    beta: float,
    bias: str,
    constant: bool,
    seed: int,
    proto: Any,
    agree: Any,
) -> None:
    feeds = {"x": drawn(seed, *((depth, rows) if flips[0] else (rows, depth)))}
    weights: dict[str, Any] = {}
    (weights if constant else feeds)["w"] = drawn(seed + 1, *((columns, depth) if flips[1] else (depth, columns)))
    shapes: dict[str, tuple[int, ...]] = {"row": (columns,), "column": (rows, 1), "full": (rows, columns), "scalar": ()}
    names = ["x", "w"]
    if bias in shapes:
        weights["c"] = drawn(seed + 2, *shapes[bias])
        names.append("c")
    node = helper.make_node("Gemm", names, ["g"], transA=int(flips[0]), transB=int(flips[1]), alpha=alpha, beta=beta)
    nodes = [node, helper.make_node("Relu", ["g"], ["y"])]
    agree(model_of(proto, nodes, feeds, ["y"], weights), feeds, fuse=(True,))


def test_attention_scores_are_products_of_moved_axes(proto: Any, agree: Any) -> None:
    q, k = drawn(0, 2, 9, 4, 8), drawn(1, 2, 11, 4, 8)
    nodes = [
        helper.make_node("Transpose", ["q"], ["qt"], perm=[0, 2, 1, 3]),
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 3, 1]),
        helper.make_node("MatMul", ["qt", "kt"], ["s"]),
        helper.make_node("Mul", ["s", "scale"], ["m"]),
        helper.make_node("Softmax", ["m"], ["p"], axis=-1),
        helper.make_node("Transpose", ["k"], ["v"], perm=[0, 2, 1, 3]),
        helper.make_node("MatMul", ["p", "v"], ["o"]),
        helper.make_node("Transpose", ["o"], ["y"], perm=[0, 2, 1, 3]),
    ]
    feeds = {"q": q, "k": k}
    agree(model_of(proto, nodes, feeds, ["y"], {"scale": np.float32(0.3)}), feeds)


# Rows


@settings(max_examples=30)
@given(op=st.sampled_from(["Softmax", "LogSoftmax", "LayerNormalization", "ReduceMean", "ReduceSum", "ReduceMax", "ArgMax"]),
       shape=st.lists(st.integers(1, 40), min_size=2, max_size=3), data=st.data(), seed=SEEDS)  # fmt: skip
def test_rows(op: str, shape: list[int], data: st.DataObject, seed: int, proto: Any, agree: Any) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    feeds, weights, names = {"x": drawn(seed, *shape)}, {}, ["x"]
    attributes: dict[str, Any] = {"axis": axis}
    if op == "LayerNormalization":
        weights = {"scale": drawn(seed + 1, *shape[axis:]), "bias": drawn(seed + 2, *shape[axis:])}
        names += ["scale", "bias"]
    elif op.startswith("Reduce"):
        attributes = {"keepdims": 1}
        weights, names = {"axes": np.array([axis])}, ["x", "axes"]
    nodes = [helper.make_node("Neg", ["x"], ["n"]), helper.make_node(op, ["n", *names[1:]], ["y"], **attributes)]
    agree(model_of(proto, nodes, feeds, ["y"], weights), feeds, fuse=(True,))


@pytest.mark.parametrize("variance", ["square", "pow"])
@pytest.mark.parametrize("affine", [True, False])
def test_a_layer_norm_written_out_is_one(variance: str, affine: bool, proto: Any, agree: Any) -> None:
    nodes = [
        helper.make_node("ReduceMean", ["x", "axes"], ["mean"]),
        helper.make_node("Sub", ["x", "mean"], ["d"]),
        helper.make_node("Mul", ["d", "d"], ["s"])
        if variance == "square"
        else helper.make_node("Pow", ["d", "two"], ["s"]),
        helper.make_node("ReduceMean", ["s", "axes"], ["v"]),
        helper.make_node("Add", ["v", "eps"], ["e"]),
        helper.make_node("Sqrt", ["e"], ["q"]),
        helper.make_node("Div", ["d", "q"], ["z" if affine else "y"]),
    ]
    if affine:
        nodes += [helper.make_node("Mul", ["z", "g"], ["zg"]), helper.make_node("Add", ["zg", "b"], ["y"])]
    weights = {
        "axes": np.array([-1]),
        "two": np.float32(2),
        "eps": np.float32(1e-5),
        "g": drawn(1, 48),
        "b": drawn(2, 48),
    }
    feeds = {"x": drawn(0, 3, 7, 48) * 3 + 5}
    agree(model_of(proto, nodes, feeds, ["y"], weights), feeds)


def test_a_softmax_over_a_masked_row(proto: Any, agree: Any) -> None:
    feeds = {"x": drawn(0, 4, 33), "m": np.where(np.arange(33) < 9, 0, -np.inf).astype("f")}
    nodes = [helper.make_node("Add", ["x", "m"], ["s"]), helper.make_node("Softmax", ["s"], ["y"])]
    got = agree(model_of(proto, nodes, feeds, ["y"], {}), feeds)
    assert not got["y"][:, 9:].any()


def test_rows_of_special_values_stay_special(proto: Any, agree: Any) -> None:
    x = drawn(0, 1, 4, 3, 7)
    x[0, 1, 2, 3], x[0, 2, 0, 5], x[0, 3] = np.nan, np.inf, 1e30
    for op in ("ReduceMax", "ReduceMean", "GlobalMaxPool", "GlobalAveragePool"):
        agree(
            model_of(proto, [helper.make_node(op, ["x"], ["y"])], {"x": x}, ["y"], {}),
            {"x": x},
            engine="reference",
        )


# Chains


@settings(max_examples=30)
@given(shapes=st.sampled_from([((3, 5), (5,)), ((2, 3, 4, 5), (3, 1, 1)), ((2, 3, 4, 5), (2, 1, 4, 1)), ((7,), ()), ((40, 33), (40, 1)), ((3, 1), (1, 5))]),
       ops=st.lists(st.sampled_from(["Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"]), min_size=1, max_size=5),
       between=st.lists(st.sampled_from(["Neg", "Sigmoid", "Tanh", "Relu", "Abs", "Erf", "Exp", "Softplus", "HardSigmoid"]), min_size=5, max_size=5),
       seed=SEEDS)  # fmt: skip
def test_chains_of_elementwise_ops(
    shapes: Any, ops: list[str], between: list[str], seed: int, proto: Any, agree: Any
) -> None:
    feeds = {
        "x": np.clip(drawn(seed, *shapes[0]), -2, 2),
        "w": np.asarray(np.abs(drawn(seed + 1, *shapes[1])) + np.float32(0.5)),
    }
    nodes, value = [], "x"
    for k, (op, unary) in enumerate(zip(ops, between, strict=False)):
        first = "absolute" if op == "Pow" else value
        if op == "Pow":
            nodes.append(helper.make_node("Abs", [value], [first := f"p{k}"]))
        nodes += [helper.make_node(op, [first, "w"], [f"b{k}"]), helper.make_node(unary, [f"b{k}"], [f"u{k}"])]
        value = f"u{k}"
    nodes.append(helper.make_node("Identity", [value], ["y"]))
    with np.errstate(all="ignore"):
        agree(model_of(proto, nodes, feeds, ["y"], {}), feeds)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.float64, np.bool_])
def test_other_types_go_the_plain_way(dtype: Any, proto: Any, agree: Any) -> None:
    x, w = (np.random.default_rng(k).integers(0, 2 if dtype is np.bool_ else 9, (5, 33)).astype(dtype) for k in (0, 1))
    op = "And" if dtype is np.bool_ else "Add"
    nodes = [
        helper.make_node(op, ["x", "w"], ["a"]),
        helper.make_node("Equal", ["a", "x"], ["e"]),
        helper.make_node("Where", ["e", "a", "w"], ["y"]),
    ]
    feeds = {"x": x, "w": w}
    agree(model_of(proto, nodes, feeds, ["y"], {}), feeds, engine="reference")


# Pools and moves


@settings(max_examples=30)
@given(op=st.sampled_from(["MaxPool", "AveragePool"]), kernel=st.integers(1, 3), stride=st.integers(1, 3), pad=st.integers(0, 1),
       size=st.tuples(st.integers(3, 20), st.integers(3, 40)), ceil=st.integers(0, 1), include=st.integers(0, 1), seed=SEEDS)  # fmt: skip
def test_pools(
    op: str, kernel: int, stride: int, pad: int, size: Any, ceil: int, include: int, seed: int, proto: Any, agree: Any
) -> None:
    assume(pad < kernel)
    # onnxruntime counts what hangs over the ceiling as padding; the spec does not.
    assume(not (ceil and include and op == "AveragePool"))
    attributes: dict[str, Any] = {
        "kernel_shape": [kernel] * 2,
        "strides": [stride] * 2,
        "pads": [pad] * 4,
        "ceil_mode": ceil,
    }
    if op == "AveragePool":
        attributes["count_include_pad"] = include
    feeds = {"x": drawn(seed, 2, 3, *size)}
    nodes = [helper.make_node(op, ["x"], ["p"], **attributes), helper.make_node("Relu", ["p"], ["y"])]
    agree(model_of(proto, nodes, feeds, ["y"], {}), feeds, fuse=(True,))


@settings(max_examples=40)
@given(data=st.data(), shape=st.lists(st.integers(1, 9), min_size=2, max_size=4), seed=SEEDS)
def test_moves(data: st.DataObject, shape: list[int], seed: int, proto: Any, agree: Any) -> None:
    rank, feeds, weights = len(shape), {"x": drawn(seed, *shape)}, {}
    axis = data.draw(st.integers(0, rank - 1))
    kind = data.draw(
        st.sampled_from(["Transpose", "Slice", "Concat", "Split", "Gather", "Pad", "Expand", "Tile", "ChannelShuffle"])
    )
    nodes = [helper.make_node("Neg", ["x"], ["n"])]
    if kind == "Transpose":
        nodes.append(helper.make_node("Transpose", ["n"], ["y"], perm=data.draw(st.permutations(range(rank)))))
    elif kind == "Slice":
        step = data.draw(st.sampled_from([1, 2, -1]))
        low, high = (0, shape[axis]) if step > 0 else (shape[axis] - 1, -shape[axis] - 1)
        weights = {"s": np.array([low]), "e": np.array([high]), "a": np.array([axis]), "t": np.array([step])}
        nodes.append(helper.make_node("Slice", ["n", "s", "e", "a", "t"], ["y"]))
    elif kind == "Concat":
        nodes.append(helper.make_node("Concat", ["n", "x", "n"], ["y"], axis=axis))
    elif kind == "Split":
        assume(shape[axis] > 1)
        weights = {"k": np.array([1, shape[axis] - 1])}
        nodes += [
            helper.make_node("Split", ["n", "k"], ["a", "b"], axis=axis),
            helper.make_node("Relu", ["a"], ["ra"]),
            helper.make_node("Concat", ["b", "ra"], ["y"], axis=axis),
        ]
    elif kind == "Gather":
        weights = {"i": np.random.default_rng(seed).integers(-shape[axis], shape[axis], (2, 3))}
        nodes.append(helper.make_node("Gather", ["n", "i"], ["y"], axis=axis))
    elif kind == "Pad":
        mode = data.draw(st.sampled_from(["constant", "edge"]))
        weights = {"p": np.array(data.draw(st.lists(st.integers(0, 2), min_size=2 * rank, max_size=2 * rank)))}
        nodes.append(helper.make_node("Pad", ["n", "p"], ["y"], mode=mode))
    elif kind == "Expand":
        weights = {"s": np.array([2, *shape])}
        nodes.append(helper.make_node("Expand", ["n", "s"], ["y"]))
    elif kind == "Tile":
        weights = {"r": np.array(data.draw(st.lists(st.integers(1, 2), min_size=rank, max_size=rank)))}
        nodes.append(helper.make_node("Tile", ["n", "r"], ["y"]))
    else:
        assume(shape[0] % 2 == 0)
        weights = {"s": np.array([2, shape[0] // 2, *shape[1:]]), "b": np.array(shape)}
        nodes += [
            helper.make_node("Reshape", ["n", "s"], ["r"]),
            helper.make_node("Transpose", ["r"], ["t"], perm=[1, 0, *range(2, rank + 1)]),
            helper.make_node("Reshape", ["t", "b"], ["y"]),
        ]
    agree(model_of(proto, nodes, feeds, ["y"], weights), feeds, more=[{"x": -feeds["x"]}], fuse=(True,))


def test_an_index_that_is_not_there_is_an_error(proto: Any) -> None:
    from exec.errors import ExecutionError
    from exec.ir import load
    from exec.session import Session

    feeds = {"i": np.array([0, 4])}
    model = model_of(
        proto, [helper.make_node("Gather", ["w", "i"], ["y"], name="look")], feeds, ["y"], {"w": drawn(0, 5, 3)}
    )
    opened = Session(load(model), kernels="numpy")
    opened.run(feeds)
    for wrong in (5, -6):
        with pytest.raises(ExecutionError) as error:
            opened.run({"i": np.array([0, wrong])})
        assert "look" in str(error.value)


# Recurrences


@settings(max_examples=25)
@given(op=st.sampled_from(["LSTM", "GRU", "RNN"]), direction=st.sampled_from(["forward", "reverse", "bidirectional"]),
       length=st.integers(1, 5), hidden=st.integers(1, 19), reset=st.integers(0, 1), started=st.booleans(), seed=SEEDS)  # fmt: skip
def test_recurrences(
    op: str, direction: str, length: int, hidden: int, reset: int, started: bool, seed: int, proto: Any, agree: Any
) -> None:
    gates, ways, width = {"LSTM": 4, "GRU": 3, "RNN": 1}[op], 2 if direction == "bidirectional" else 1, 6
    weights = {
        "w": drawn(seed, ways, gates * hidden, width),
        "r": drawn(seed + 1, ways, gates * hidden, hidden),
        "b": drawn(seed + 2, ways, 2 * gates * hidden),
    }
    names, feeds = ["x", "w", "r", "b"], {"x": drawn(seed + 3, length, 2, width)}
    if started:
        names += ["", "h"]
        feeds["h"] = drawn(seed + 4, ways, 2, hidden)
        if op == "LSTM":
            names.append("c")
            feeds["c"] = drawn(seed + 5, ways, 2, hidden)
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
    if op == "GRU":
        attributes["linear_before_reset"] = reset
    outputs = ["y", "yh", "yc"][: 3 if op == "LSTM" else 2]
    agree(
        model_of(proto, [helper.make_node(op, names, outputs, **attributes)], feeds, outputs, weights),
        feeds,
        fuse=(True,),
    )


# Narrow floats


@pytest.mark.parametrize("op", ["MatMul", "Softmax", "LayerNormalization", "Sigmoid", "Conv", "ReduceMean"])
def test_float16_is_carried_wide_and_given_narrow(op: str, proto: Any, agree: Any) -> None:
    x = drawn(0, 2, 8, 9, 9).astype(np.float16)
    weights: dict[str, Any] = {
        "MatMul": {"w": drawn(1, 9, 5)}, "LayerNormalization": {"w": drawn(1, 9), "b": drawn(2, 9)}, "Conv": {"w": drawn(1, 4, 8, 3, 3)},
        "ReduceMean": {"w": np.array([-1])},
    }.get(op, {})  # fmt: skip
    weights = {n: v if v.dtype.kind == "i" else v.astype(np.float16) for n, v in weights.items()}
    nodes = [
        helper.make_node("Neg", ["x"], ["n"]),
        helper.make_node(op, ["n", *weights], ["m"]),
        helper.make_node("Add", ["m", "m"], ["y"]),
    ]
    got = agree(model_of(proto, nodes, {"x": x}, ["y"], weights), {"x": x}, engine="reference")
    assert got["y"].dtype == np.float16
