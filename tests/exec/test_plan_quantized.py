"""Models in bytes: what reads through a DequantizeLinear gives the numbers of the float model it stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from exec.compiled import available
from exec.ir import load
from exec.session import Session

KERNELS = ("numpy", "compiled") if available() else ("numpy",)
SEEDS = st.integers(0, 1 << 16)
ONE_STEP = 1 / 255
"""A result at the middle between two bytes may go either way."""


def qdq_model(
    proto: Any,
    op: str,
    x: Any,
    w: Any,
    bias: Any,
    *,
    signed: bool,
    per_channel: bool,
    zeros: bool,
    relu: bool,
    **a: Any,
) -> Any:
    """Q → DQ → op of dequantized weights → (Relu) → Q → DQ, as quantizers write it."""
    byte = np.int8 if signed else np.uint8
    axis = 0 if op == "Conv" else w.ndim - 1
    scale = np.abs(w).max(tuple(k for k in range(w.ndim) if k != axis)) / 127 if per_channel else np.abs(w).max() / 127
    along = np.asarray(scale, np.float32).reshape(
        [-1 if k == axis else 1 for k in range(w.ndim)] if per_channel else ()
    )
    weights = {
        "xs": np.float32(np.abs(x).max() / 127), "xz": byte((0 if signed else 128) + (5 if zeros else 0)),
        "wq": np.clip(np.rint(w / along), -127, 127).astype(np.int8), "ws": np.asarray(scale, np.float32),
        "wz": np.zeros(np.shape(scale), np.int8), "ys": np.float32(0.07), "yz": byte(0 if signed else 3),
    }  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
        helper.make_node("DequantizeLinear", ["wq", "ws", "wz"], ["wd"], **({"axis": axis} if per_channel else {})),
        helper.make_node(op, ["xd", "wd", *(["b"] if bias is not None else [])], ["c"], **a),
        *([helper.make_node("Relu", ["c"], ["r"])] if relu else []),
        helper.make_node("QuantizeLinear", ["r" if relu else "c", "ys", "yz"], ["yq"]),
        helper.make_node("DequantizeLinear", ["yq", "ys", "yz"], ["y"]),
    ]
    if bias is not None:
        weights["b"] = bias
    model = proto("g (float x) => (float y) { y = Identity(x) }")
    del model.graph.node[:], model.graph.input[:], model.graph.output[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), n) for n, v in weights.items())
    model.graph.input.append(helper.make_tensor_value_info("x", 1, x.shape))
    model.graph.output.append(helper.make_tensor_value_info("y", 1, None))
    return model


@settings(max_examples=30)
@given(channels=st.sampled_from([1, 3, 16, 17]), outputs=st.sampled_from([1, 5, 16, 33]), size=st.tuples(st.integers(3, 14), st.integers(3, 20)),
       kernel=st.sampled_from([1, 3]), stride=st.integers(1, 2), kind=st.sampled_from(["plain", "grouped", "depthwise"]),
       signed=st.booleans(), per_channel=st.booleans(), zeros=st.booleans(), relu=st.booleans(), biased=st.booleans(), seed=SEEDS)  # fmt: skip
def test_convolutions_of_bytes(
    channels: int, outputs: int, size: Any, kernel: int, stride: int, kind: str, signed: bool, per_channel: bool, zeros: bool, relu: bool,
    biased: bool, seed: int, proto: Any, agree: Any,
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    group = {"plain": 1, "grouped": 2, "depthwise": channels}[kind]
    into = {"plain": channels, "grouped": channels, "depthwise": 1}[kind]
    x = rng.normal(size=(2, into * group, *size)).astype("f")
    outputs = channels if kind == "depthwise" else outputs * group
    w = rng.normal(size=(outputs, into, kernel, kernel)).astype("f") / np.float32(into**0.5)
    bias = rng.normal(size=outputs).astype("f") if biased else None
    model = qdq_model(
        proto, "Conv", x, w, bias, signed=signed, per_channel=per_channel, zeros=zeros, relu=relu, group=group,
        strides=[stride] * 2, pads=[kernel // 2] * 4,
    )  # fmt: skip
    agree(model, {"x": x}, tolerance=ONE_STEP, fuse=(True,), more=[{"x": x * 0.5}])


@settings(max_examples=30)
@given(rows=st.integers(1, 20), depth=st.integers(1, 70), columns=st.integers(1, 50), signed=st.booleans(), per_channel=st.booleans(),
       zeros=st.booleans(), relu=st.booleans(), seed=SEEDS)  # fmt: skip
def test_products_of_bytes(
    rows: int, depth: int, columns: int, signed: bool, per_channel: bool, zeros: bool, relu: bool, seed: int, proto: Any, agree: Any
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    x, w = (
        rng.normal(size=(2, rows, depth)).astype("f"),
        rng.normal(size=(depth, columns)).astype("f") / np.float32(depth**0.5),
    )
    model = qdq_model(proto, "MatMul", x, w, None, signed=signed, per_channel=per_channel, zeros=zeros, relu=relu)
    agree(model, {"x": x}, tolerance=ONE_STEP, fuse=(True,))


@settings(max_examples=20)
@given(
    rows=st.integers(1, 9),
    depth=st.integers(1, 70),
    columns=st.integers(1, 40),
    signed=st.booleans(),
    zeros=st.booleans(),
    seed=SEEDS,
)
def test_dynamically_quantized_products(
    rows: int, depth: int, columns: int, signed: bool, zeros: bool, seed: int, proto: Any, agree: Any
) -> None:
    rng = np.random.default_rng(seed)
    weights = {
        "w": rng.integers(-127, 128, (depth, columns)).astype(np.int8) if signed else rng.integers(0, 256, (depth, columns)).astype(np.uint8),
        "z": np.asarray(7 if zeros else 0, np.int8 if signed else np.uint8), "s": np.float32(0.01), "b": rng.normal(size=columns).astype("f"),
    }  # fmt: skip
    text = f"""g (float[2, {rows}, {depth}] x) => (float[2, {rows}, {columns}] y)
        {{ q, qs, qz = DynamicQuantizeLinear(x) i = MatMulInteger(q, w, qz, z) f = Cast<to = 1>(i) k = Mul(qs, s) m = Mul(f, k) y = Add(m, b) }}"""
    model = proto(text, **{n: np.asarray(v) for n, v in weights.items()})
    agree(model, {"x": rng.normal(size=(2, rows, depth)).astype("f")}, fuse=(True,))


def test_a_residual_of_two_byte_tensors(proto: Any, agree: Any) -> None:
    rng = np.random.default_rng(0)
    weights = {"s": np.float32(0.03), "z": np.uint8(128), "t": np.float32(0.05), "u": np.uint8(100)}
    text = """g (float[2, 40] x, float[2, 40] w) => (float[2, 40] y)
        { a = QuantizeLinear(x, s, z) b = DequantizeLinear(a, s, z) c = QuantizeLinear(w, t, u) d = DequantizeLinear(c, t, u)
          e = Add(b, d) r = Relu(e) q = QuantizeLinear(r, t, u) y = DequantizeLinear(q, t, u) }"""
    feeds = {name: rng.normal(size=(2, 40)).astype("f") for name in ("x", "w")}
    agree(proto(text, **{n: np.asarray(v) for n, v in weights.items()}), feeds, tolerance=ONE_STEP)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 1e30, -1e30])
def test_what_is_no_byte_is_clamped_like_elsewhere(special: float, proto: Any, agree: Any) -> None:
    x = np.linspace(-9, 9, 40, dtype=np.float32)
    x[7] = special
    text = """g (float[40] x) => (float[40] y) <float s = {0.05}, uint8 z = {128}>
        { q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) y = Relu(d) }"""
    model = proto(text)
    if not np.isnan(special):
        agree(model, {"x": x})
        return
    # Every engine has its own byte for NaN; ours is the lowest, which Relu makes 0, however the plan is made.
    for kernels in KERNELS:
        for fuse in (True, False):
            y = np.asarray(Session(load(model), kernels=kernels, fuse=fuse).run({"x": x})["y"])
            assert y[7] == 0
            assert np.array_equal(np.delete(y, 7) > 0, np.delete(x, 7) > 0.025)


@settings(max_examples=15)
@given(hidden=st.sampled_from([1, 2, 7, 20, 257]), length=st.integers(1, 5), ways=st.sampled_from([1, 2]), seed=SEEDS)
def test_a_dynamically_quantized_lstm(hidden: int, length: int, ways: int, seed: int, proto: Any, agree: Any) -> None:
    rng = np.random.default_rng(seed)
    width = 7
    weights = {
        "w": rng.integers(-127, 128, (ways, width, 4 * hidden)).astype(np.int8), "r": rng.integers(-127, 128, (ways, hidden, 4 * hidden)).astype(np.int8),
        "b": rng.normal(size=(ways, 8 * hidden)).astype("f"), "ws": np.full(ways, 0.01, np.float32), "wz": np.zeros(ways, np.int8),
    }  # fmt: skip
    direction = "forward" if ways == 1 else "bidirectional"
    text = f"""g (float[{length}, 1, {width}] x) => (float[A, B, C, D] y, float[E, F, G] h, float[H, I, J] c)
        {{ y, h, c = com.microsoft.DynamicQuantizeLSTM<hidden_size = {hidden}, direction = "{direction}">(x, w, r, b, , , , , ws, wz, ws, wz) }}"""
    model = proto(text, **weights)
    agree(model, {"x": rng.normal(size=(length, 1, width)).astype("f")}, fuse=(True,), tolerance=1e-3)


@settings(max_examples=30)
@given(batch=st.sampled_from([(), (2,), (2, 3)]), rows=st.integers(1, 9), depth=st.sampled_from([1, 7, 64, 257, 258, 700, 1100]), columns=st.integers(1, 9),
       kinds=st.tuples(st.sampled_from(["u1", "i1"]), st.sampled_from(["u1", "i1"])), constant=st.booleans(), extreme=st.booleans(),
       zeros=st.sampled_from(["none", "first", "both", "columns"]), seed=SEEDS)  # fmt: skip
def test_products_of_bytes_are_exact(
    batch: Any, rows: int, depth: int, columns: int, kinds: Any, constant: bool, extreme: bool, zeros: str, seed: int, proto: Any, agree: Any
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    limits = [np.iinfo(kind) for kind in kinds]
    shapes = [(*batch, rows, depth), (depth, columns) if constant else (*batch, depth, columns)]
    x, y = (
        rng.integers(i.max - 1 if extreme else i.min, i.max + 1, s).astype(i.dtype)
        for i, s in zip(limits, shapes, strict=True)
    )
    weights: dict[str, Any] = {"y": y} if constant else {}
    count = columns if zeros == "columns" else None
    if zeros != "none":
        weights["xz"] = np.asarray(limits[0].min if extreme else limits[0].max - 9, limits[0].dtype)
    if zeros in ("both", "columns"):
        weights["yz"] = rng.integers(limits[1].min, limits[1].max + 1, count).astype(limits[1].dtype)
    names = ["x", "y", *(n for n in ("xz", "yz") if n in weights)]
    model = proto("g (float x) => (int32 t) { t = Identity(x) }", **{n: np.asarray(v) for n, v in weights.items()})
    del model.graph.node[:], model.graph.input[:]
    model.graph.node.append(helper.make_node("MatMulInteger", names, ["t"]))
    feeds = {"x": x} if constant else {"x": x, "y": y}
    model.graph.input.extend(
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in feeds.items()
    )
    agree(model, feeds, engine="reference", fuse=(True,), tolerance=0.0)


@settings(max_examples=25)
@given(kind=st.sampled_from([np.uint8, np.int8]), channels=st.sampled_from([2, 8, 300]), outputs=st.sampled_from([2, 8]), kernel=st.integers(1, 3),
       stride=st.integers(1, 2), group=st.sampled_from([1, 2]), per_channel=st.booleans(), biased=st.booleans(), zeros=st.booleans(), extreme=st.booleans(), seed=SEEDS)  # fmt: skip
def test_qlinear_conv_is_exact_but_for_ties(
    kind: Any, channels: int, outputs: int, kernel: int, stride: int, group: int, per_channel: bool, biased: bool, zeros: bool, extreme: bool, seed: int, proto: Any
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    limits = np.iinfo(kind)
    x = rng.integers(limits.max - 3 if extreme else limits.min, limits.max + 1, (2, channels, 5, 6)).astype(kind)
    w = rng.integers(120 if extreme else -128, 128, (outputs, channels // group, kernel, kernel)).astype(np.int8)
    weights: dict[str, Any] = {
        "xs": np.float32(0.02), "xz": kind(limits.min if extreme else 7), "w": w,
        "ws": rng.uniform(0.001, 0.02, outputs if per_channel else ()).astype(np.float32),
        "wz": (rng.integers(-9, 9, outputs if per_channel else ()) * zeros).astype(np.int8),
        "ys": np.float32(0.002 * channels * kernel), "yz": kind(3), "b": rng.integers(-5000, 5000, outputs).astype(np.int32),
    }  # fmt: skip
    names = ["x", *(n for n in weights if n != "b" or biased)]
    model = proto("g (float x) => (uint8 y) { y = Identity(x) }", **{n: np.asarray(v) for n, v in weights.items()})
    del model.graph.node[:], model.graph.input[:], model.graph.output[:]
    pad = kernel // 2
    node = helper.make_node("QLinearConv", names, ["y"], strides=[stride] * 2, pads=[pad] * 4, group=group)
    model.graph.node.append(node)
    model.graph.input.append(helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape))
    model.graph.output.append(helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(x.dtype), None))
    column = (-1, 1, 1)
    spread = [
        np.broadcast_to(weights[n].astype(np.float64).reshape(-1), (outputs,)).reshape(column) for n in ("ws", "wz")
    ]
    padded = np.pad(x.astype(np.float64) - float(weights["xz"]), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), axis=(2, 3))[:, :, ::stride, ::stride]
    parts = windows.reshape(2, group, channels // group, *windows.shape[2:])
    centred = (w.astype(np.float64) - spread[1].reshape(-1, 1, 1, 1)).reshape(
        group, -1, channels // group, kernel, kernel
    )
    total = np.einsum("ngchwij,gocij->ngohw", parts, centred).reshape(2, outputs, *windows.shape[2:4])
    if biased:
        total = total + weights["b"].reshape(column)
    exact = total * (np.float64(weights["xs"]) * spread[0] / np.float64(weights["ys"]))
    want = np.clip(np.rint(exact) + 3, limits.min, limits.max)
    tie = np.abs(np.abs(exact - np.floor(exact)) - 0.5) < 1e-6 * np.maximum(np.abs(exact), 100)
    for kernels in ("numpy", "compiled") if available() else ("numpy",):
        got = Session(load(model), kernels=kernels).run({"x": x})["y"].astype(np.float64)
        assert np.all(np.abs(got - want) <= tie), kernels
