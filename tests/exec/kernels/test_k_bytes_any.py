"""Operators on bytes over shapes, types, zero points and attributes, exact to the integer."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

SEEDS = st.integers(0, 1 << 16)
BYTES = st.sampled_from(["uint8", "int8"])
ORT = {"engines": ["onnxruntime"]}


def codes(rng: np.random.Generator, kind: str, *shape: int) -> Any:
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max + 1, shape).astype(kind)


@given(x_kind=BYTES, w_kind=BYTES, kernel=st.integers(1, 3), stride=st.integers(1, 2), dilation=st.integers(1, 2), pad=st.integers(0, 2),
       group=st.sampled_from([1, 2]), zeros=st.integers(0, 2), seed=SEEDS)  # fmt: skip
def test_conv_integer(
    x_kind: str, w_kind: str, kernel: int, stride: int, dilation: int, pad: int, group: int, zeros: int, seed: int, check: Any
) -> None:  # fmt: skip
    assume(pad < kernel)
    rng = np.random.default_rng(seed)
    x, w = codes(rng, x_kind, 2, 2 * group, 7, 8), codes(rng, w_kind, 4, 2, kernel, kernel)
    given_zeros = [codes(rng, x_kind), codes(rng, w_kind)][:zeros]
    attributes: dict[str, Any] = {
        "strides": [stride] * 2, "dilations": [dilation] * 2, "pads": [pad] * 4, "group": group, "kernel_shape": [kernel] * 2,
    }  # fmt: skip
    # onnxruntime takes unsigned activations only; the reference does not know groups.
    engines = (["onnxruntime"] if x_kind == "uint8" else []) + (["reference"] if group == 1 and not pad else [])
    check("ConvInteger", x, w, *given_zeros, engines=engines, **attributes)


@given(x_kind=BYTES, kernel=st.integers(1, 3), stride=st.integers(1, 2), pad=st.integers(0, 1), group=st.sampled_from([1, 2, 4]),
       per_channel=st.booleans(), biased=st.booleans(), seed=SEEDS)  # fmt: skip
def test_qlinear_conv(
    x_kind: str, kernel: int, stride: int, pad: int, group: int, per_channel: bool, biased: bool, seed: int, compute: Any
) -> None:  # fmt: skip
    """Against the same sum in float64: the one rounding is at the end."""
    rng = np.random.default_rng(seed)
    x, w = codes(rng, x_kind, 1, 4, 6, 5), codes(rng, "int8", 4, 4 // group, kernel, kernel)
    x_scale, x_zero = np.float32(0.02), codes(rng, x_kind)
    w_scale = rng.uniform(0.001, 0.02, 4 if per_channel else ()).astype(np.float32)
    y_scale, y_zero = np.float32(0.3), codes(rng, x_kind)
    bias = rng.integers(-2000, 2000, 4).astype(np.int32)
    attributes = {"strides": [stride] * 2, "pads": [pad] * 4, "group": group}
    zeros = np.zeros(np.shape(w_scale), np.int8)
    (got,) = compute(
        "QLinearConv", x, x_scale, x_zero, w, w_scale, zeros, y_scale, y_zero, *([bias] if biased else []), **attributes
    )
    centred = x.astype(np.float64) - float(x_zero)
    (total,) = compute("Conv", centred, w.astype(np.float64), **attributes)
    column = (-1, 1, 1)
    if biased:
        total = total + bias.reshape(column)
    exact = total * np.reshape(x_scale.astype(np.float64) * w_scale / y_scale, column if per_channel else ())
    limits = np.iinfo(x_kind)
    want = np.clip(np.rint(exact) + float(y_zero), limits.min, limits.max)
    off = np.abs(got.astype(np.float64) - want)
    tie = np.abs(np.abs(exact - np.floor(exact)) - 0.5) < 1e-4
    assert np.all(off <= tie), f"{off.max()} beyond a tie"


@given(kind=BYTES, shape=st.lists(st.integers(1, 5), min_size=1, max_size=4), other=st.sampled_from(["same", "one", "last"]), seed=SEEDS)  # fmt: skip
def test_qlinear_add_and_mul(kind: str, shape: list[int], other: str, seed: int, check: Any) -> None:
    rng = np.random.default_rng(seed)
    second = {"same": shape, "one": [1], "last": shape[-1:]}[other]
    a, b = codes(rng, kind, *shape), codes(rng, kind, *second)
    scales = [np.float32(s) for s in (0.031, 0.017, 0.043)]
    zeros = [codes(rng, kind) for _ in range(3)]
    inputs = [v for pair in zip((a, b), scales, zeros, strict=False) for v in pair]
    for op in ("QLinearAdd", "QLinearMul"):
        check(op, *inputs, scales[2], zeros[2], domain="com.microsoft", opset=1, tolerance=1 / 127, **ORT)


@given(kind=BYTES, axis=st.integers(-3, 2), granularity=st.sampled_from(["tensor", "axis", "block"]), opset=st.sampled_from([21, 23]), seed=SEEDS)  # fmt: skip
def test_there_and_back(kind: str, axis: int, granularity: str, opset: int, seed: int, check: Any) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 3, (4, 6, 8)).astype(np.float32)
    attributes: dict[str, Any] = {} if granularity == "tensor" else {"axis": axis}
    shape: list[int] = [] if granularity == "tensor" else [x.shape[axis]]
    if granularity == "block":
        attributes["block_size"] = 2
        shape = list(x.shape)
        shape[axis] //= 2
    scale, zero = rng.uniform(0.01, 0.1, shape).astype(np.float32), codes(rng, kind, *shape)
    (q,) = check("QuantizeLinear", x, scale, zero, opset=opset, **attributes)
    check("DequantizeLinear", q, scale, zero, opset=opset, **attributes)
