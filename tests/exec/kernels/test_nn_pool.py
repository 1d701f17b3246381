"""Pools: windows that hang over the edge, indices, every opset's own reading."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

SEEDS = st.integers(0, 1 << 16)
PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def small(rank: int, low: int, high: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(low, high), min_size=rank, max_size=rank)


@st.composite
def windows(draw: st.DrawFn) -> tuple[list[int], dict[str, Any]]:
    """A shape and the attributes of a window on it."""
    rank = draw(st.integers(1, 3))
    kernel, strides = draw(small(rank, 1, 3)), draw(small(rank, 1, 3))
    size = draw(small(rank, 3, 8 if rank < 3 else 5))
    attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": strides}
    auto = draw(st.sampled_from(PADS))
    if auto == "NOTSET":
        attributes["pads"] = [draw(st.integers(0, k - 1)) for k in kernel * 2]
        attributes["ceil_mode"] = draw(st.integers(0, 1))
    else:
        attributes["auto_pad"] = auto
        # onnxruntime pads by less than nothing where the window is smaller than the stride.
        attributes["strides"] = [min(k, s) for k, s in zip(kernel, strides, strict=True)]
    return [draw(st.integers(1, 2)), draw(st.integers(1, 3)), *size], attributes


@given(window=windows(), seed=SEEDS, dilated=st.integers(1, 2), dtype=st.sampled_from([np.float32, np.int8, np.uint8]))
def test_max_pool(window: Any, seed: int, dilated: int, dtype: Any, check: Any, made: Any) -> None:
    shape, attributes = window
    if attributes.get("auto_pad", "NOTSET") == "NOTSET":
        attributes["dilations"] = [dilated] * len(attributes["kernel_shape"])
    spans = [(k - 1) * dilated + 1 for k in attributes["kernel_shape"]]
    assume(all(size >= span for size, span in zip(shape[2:], spans, strict=True)))
    check("MaxPool", made(np.random.default_rng(seed), shape, dtype), engines=("onnxruntime",), **attributes)


@given(window=windows(), seed=SEEDS, order=st.integers(0, 1))
def test_max_pool_says_where(window: Any, seed: int, order: int, check: Any) -> None:
    shape, attributes = window
    assume(attributes.get("ceil_mode", 0) == 0)
    x = np.random.default_rng(seed).permutation(int(np.prod(shape))).reshape(shape).astype(np.float32)
    check("MaxPool", x, outputs=2, storage_order=order, engines=("onnxruntime",), **attributes)


@given(window=windows(), seed=SEEDS, include=st.integers(0, 1))
def test_average_pool(window: Any, seed: int, include: int, check: Any, made: Any) -> None:
    shape, attributes = window
    # onnxruntime counts what hangs over the ceiling as padding; the spec does not.
    assume(not (attributes.get("ceil_mode", 0) and include))
    x = made(np.random.default_rng(seed), shape, np.float32)
    check("AveragePool", x, count_include_pad=include, engines=("onnxruntime",), **attributes)


@given(seed=SEEDS, include=st.integers(0, 1), ceil=st.integers(0, 1), dilation=st.integers(1, 2))
def test_average_pool_is_what_the_reference_says(
    seed: int, include: int, ceil: int, dilation: int, check: Any, made: Any
) -> None:
    x = made(np.random.default_rng(seed), (1, 2, 7, 8), np.float32)
    attributes = {"count_include_pad": include, "ceil_mode": ceil, "dilations": [dilation] * 2}
    check(
        "AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], engines=("reference",), **attributes
    )


@given(window=windows(), seed=SEEDS, p=st.integers(1, 3))
def test_lp_pool(window: Any, seed: int, p: int, check: Any, made: Any) -> None:
    shape, attributes = window
    assume(not attributes.get("ceil_mode", 0))
    check("LpPool", made(np.random.default_rng(seed), shape, np.float32), p=p, engines=("onnxruntime",), **attributes)


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
@pytest.mark.parametrize("shape", [(2, 3, 5), (1, 3, 4, 5), (2, 1, 3, 2, 2)])
def test_global_pools(op: str, shape: tuple[int, ...], check: Any, made: Any) -> None:
    check(op, made(np.random.default_rng(0), shape, np.float32), engines=("onnxruntime",))


def test_a_pool_of_nan_is_nan(compute: Any) -> None:
    x = np.array([[[1, np.nan, 3, 4]]], np.float32)
    assert np.isnan(compute("AveragePool", x, kernel_shape=[2])[0]).tolist() == [[[True, True, False]]]
    assert compute("MaxPool", x, kernel_shape=[2])[0][0, 0, 2] == 4


def test_a_pool_of_minus_infinity_keeps_it(compute: Any) -> None:
    x = np.full((1, 1, 4), -np.inf, np.float32)
    assert np.isneginf(compute("MaxPool", x, kernel_shape=[3], pads=[1, 1])[0]).all()


@given(seed=SEEDS)
def test_max_unpool_undoes_a_max_pool(seed: int, check: Any, compute: Any) -> None:
    x = np.random.default_rng(seed).permutation(96).reshape(1, 2, 6, 8).astype(np.float32)
    y, where = compute("MaxPool", x, outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    check("MaxUnpool", y, where, kernel_shape=[2, 2], strides=[2, 2], engines=("onnxruntime",))


def test_max_roi_pool(check: Any) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 10, 12)).astype(np.float32)
    rois = np.array([[0, 1, 1, 7, 8], [1, 0, 0, 11, 9], [0, 3, 4, 4, 5]], np.float32)
    check("MaxRoiPool", x, rois, pooled_shape=[2, 3], spatial_scale=1.0, engines=("onnxruntime",))
