"""Convolutions: every rank, stride, dilation, padding and group."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from exec.errors import BenchError
from exec.kernels.registry import find

SEEDS = st.integers(0, 1 << 16)
PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def small(rank: int, low: int, high: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(low, high), min_size=rank, max_size=rank)


@st.composite
def problems(draw: st.DrawFn, transposed: bool = False) -> dict[str, Any]:
    """Shapes and attributes of a convolution of any rank."""
    rank = draw(st.integers(1, 3))
    kernel, strides, dilations = draw(small(rank, 1, 4)), draw(small(rank, 1, 3)), draw(small(rank, 1, 2))
    size = draw(small(rank, 1, 9 if rank < 3 else 5))
    group = draw(st.integers(1, 3))
    attributes: dict[str, Any] = {"strides": strides, "dilations": dilations, "group": group}
    auto = draw(st.sampled_from(PADS))
    if auto == "NOTSET":
        attributes["pads"] = draw(small(2 * rank, 0, 2))
    else:
        attributes["auto_pad"] = auto
    if auto.startswith("SAME") and not transposed:
        attributes["dilations"] = [1] * rank  # onnxruntime and the reference disagree with each other beyond that
        attributes["strides"] = [min(k, s) for k, s in zip(kernel, strides, strict=True)]
    spanned = [(k - 1) * d + 1 for k, d in zip(kernel, attributes["dilations"], strict=True)]
    if not transposed and not auto.startswith("SAME"):
        pads = attributes.get("pads", [0] * 2 * rank)
        assume(all(s + pads[k] + pads[k + rank] >= n for k, (s, n) in enumerate(zip(size, spanned, strict=True))))
    into, out = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    weights = [group * into, out] if transposed else [group * out, into]
    return {
        "x": [draw(st.integers(1, 2)), group * into, *size],
        "w": [*weights, *kernel],
        "b": group * out if draw(st.booleans()) else None,
        "attributes": attributes,
    }


@given(problem=problems(), seed=SEEDS, dtype=st.sampled_from([np.float32, np.float16]))
def test_conv(problem: dict[str, Any], seed: int, dtype: Any, check: Any, made: Any) -> None:
    rng = np.random.default_rng(seed)
    b = None if problem["b"] is None else made(rng, [problem["b"]], dtype)
    check(
        "Conv", made(rng, problem["x"], dtype), made(rng, problem["w"], dtype), b,
        engines=("onnxruntime",), **problem["attributes"],
    )  # fmt: skip


@given(seed=SEEDS, group=st.sampled_from([1, 2]), stride=st.integers(1, 2), pad=st.integers(0, 1))
def test_conv_is_what_the_reference_says(seed: int, group: int, stride: int, pad: int, check: Any, made: Any) -> None:
    rng = np.random.default_rng(seed)
    x, w = made(rng, (2, 4, 6, 5), np.float32), made(rng, (6, 4 // group, 3, 2), np.float32)
    check("Conv", x, w, group=group, strides=[stride] * 2, pads=[pad] * 4)


@given(problem=problems(transposed=True), seed=SEEDS, extra=st.integers(0, 1))
def test_conv_transpose(problem: dict[str, Any], seed: int, extra: int, check: Any, made: Any) -> None:
    rng = np.random.default_rng(seed)
    attributes = problem["attributes"]
    if max(attributes["strides"]) > 1 and attributes.get("auto_pad", "NOTSET") == "NOTSET":
        attributes["output_padding"] = [min(extra, s - 1) for s in attributes["strides"]]
    kernel, size = problem["w"][2:], problem["x"][2:]
    pads = attributes.get("pads", [0] * 2 * len(size))
    for k, length in enumerate(size):
        spanned = (kernel[k] - 1) * attributes["dilations"][k] + 1
        assume((length - 1) * attributes["strides"][k] + spanned - pads[k] - pads[k + len(size)] > 0)
        assume(not attributes.get("auto_pad", "").startswith("SAME") or spanned >= attributes["strides"][k])
    b = None if problem["b"] is None else made(rng, [problem["b"]], np.float32)
    x, w = made(rng, problem["x"], np.float32), made(rng, problem["w"], np.float32)
    check("ConvTranspose", x, w, b, engines=("onnxruntime",), **attributes)


@pytest.mark.parametrize("shape", [[10, 8], [9, 7]])
@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
def test_conv_transpose_fills_an_output_shape(shape: list[int], auto_pad: str, check: Any) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(1, 2, 5, 4)).astype("f"), rng.normal(size=(2, 3, 3, 3)).astype("f")
    check("ConvTranspose", x, w, output_shape=shape, strides=[2, 2], auto_pad=auto_pad, engines=("onnxruntime",))


@given(problem=problems(), seed=SEEDS)
def test_plain_conv_is_the_same_sum_in_one_order(problem: dict[str, Any], seed: int, made: Any) -> None:
    rng = np.random.default_rng(seed)
    x, w = made(rng, problem["x"], np.float32), made(rng, problem["w"], np.float32)
    plain, fast = (find("", "Conv", 21, kind) for kind in ("plain", "numpy"))
    assert plain is not None
    assert fast is not None
    a, b = plain.function(x, w, **problem["attributes"]), fast.function(x, w, **problem["attributes"])
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    alone = plain.function(x[:1], w, **problem["attributes"])
    assert np.array_equal(a[:1], alone)


@given(seed=SEEDS, group=st.sampled_from([1, 2]), signed=st.booleans(), zeros=st.booleans(), per_channel=st.booleans())
def test_qlinear_conv(
    seed: int, group: int, signed: bool, zeros: bool, per_channel: bool, check: Any, made: Any
) -> None:
    rng = np.random.default_rng(seed)
    x, w = rng.integers(0, 255, (2, 4, 6, 5)).astype(np.uint8), rng.integers(-128, 128, (6, 4 // group, 3, 3))
    weights = w.astype(np.int8) if signed else (w + 128).astype(np.uint8)
    scales = rng.uniform(0.001, 0.02, 6 if per_channel else ()).astype(np.float32)
    x_zero = np.uint8(rng.integers(0, 255) if zeros else 0)
    w_zero = np.zeros(scales.shape, weights.dtype) if signed else np.full(scales.shape, 120, np.uint8)
    check(
        "QLinearConv", x, np.float32(0.02), x_zero, weights, scales, w_zero, np.float32(0.05), np.uint8(128),
        rng.integers(-1000, 1000, 6).astype(np.int32), group=group, pads=[1, 1, 1, 1], tolerance=1 / 255,
        engines=("onnxruntime",),
    )  # fmt: skip


@given(seed=SEEDS, zeros=st.booleans(), stride=st.integers(1, 2))
def test_conv_integer(seed: int, zeros: bool, stride: int, check: Any) -> None:
    rng = np.random.default_rng(seed)
    x, w = rng.integers(0, 256, (1, 3, 6, 6)).astype(np.uint8), rng.integers(0, 256, (4, 3, 3, 3)).astype(np.uint8)
    points = (np.uint8(131), np.uint8(7)) if zeros else ()
    check("ConvInteger", x, w, *points, strides=[stride] * 2, pads=[1] * 4, engines=("onnxruntime",))


@given(seed=SEEDS)
def test_integer_sums_are_exact(seed: int, compute: Any) -> None:
    rng = np.random.default_rng(seed)
    x, w = np.full((1, 512, 3, 3), 255, np.uint8), rng.integers(0, 256, (2, 512, 3, 3)).astype(np.uint8)
    (y,) = compute("ConvInteger", x, w)
    assert np.array_equal(y[0, :, 0, 0], w.astype(np.int64).sum((1, 2, 3)) * 255)


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
@pytest.mark.parametrize("shape", [(0, 2, 5, 5), (1, 2, 0, 5)])
def test_nothing_in_gives_the_bias_or_nothing(op: str, shape: tuple[int, ...], compute: Any) -> None:
    w = np.ones((2, 2, 1, 1), np.float32)
    (y,) = compute(op, np.ones(shape, np.float32), w, np.ones(2, np.float32))
    assert y.shape == shape


def test_channels_that_do_not_fit_are_an_error_that_counts_them(compute: Any) -> None:
    with pytest.raises((ValueError, BenchError), match="3"):
        compute("Conv", np.ones((1, 3, 5, 5), np.float32), np.ones((2, 2, 1, 1), np.float32))


@given(seed=SEEDS, masked=st.booleans(), groups=st.sampled_from([1, 2]))
def test_deform_conv(seed: int, masked: bool, groups: int, check: Any, made: Any) -> None:
    rng = np.random.default_rng(seed)
    x, w = made(rng, (1, 4, 5, 5), np.float32), made(rng, (2, 4, 2, 2), np.float32)
    offset = rng.normal(size=(1, groups * 8, 4, 4)).astype(np.float32)
    mask = rng.random((1, groups * 4, 4, 4)).astype(np.float32) if masked else None
    check("DeformConv", x, w, offset, np.ones(2, np.float32), mask, opset=19, offset_group=groups, kernel_shape=[2, 2])
