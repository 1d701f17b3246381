"""Reductions: axes given both ways, nothing to reduce, every type."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

SEEDS = st.integers(0, 1 << 16)
OPS = [
    "ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSum",
    "ReduceLogSumExp",
]  # fmt: skip
AXES = st.sampled_from([None, [0], [-1], [0, 2], [1, -1], [2, 0, 1]])


@pytest.mark.parametrize("op", OPS)
@given(
    axes=AXES, keepdims=st.integers(0, 1), dtype=st.sampled_from(["float32", "float64", "int32", "int64"]), seed=SEEDS
)
def test_axes_as_an_input(check: Any, made: Any, op: str, axes: Any, keepdims: int, dtype: str, seed: int) -> None:
    x = made(np.random.default_rng(seed), (2, 3, 4), dtype)
    if "Log" in op or op == "ReduceProd":
        x = (np.abs(x) % np.array(1.5 if np.dtype(dtype).kind == "f" else 2, dtype)) + np.array(1, dtype)
    given_axes = [] if axes is None else [np.array(axes)]
    if "Log" not in op or np.dtype(dtype).kind == "f":  # onnxruntime adds up truncated exponentials
        check(op, x, *given_axes, keepdims=keepdims, engines=["onnxruntime"])
    if np.dtype(dtype).kind == "f":
        check(op, x, *given_axes, keepdims=keepdims, engines=["reference"])


@pytest.mark.parametrize("op", OPS)
@given(axes=AXES, keepdims=st.integers(0, 1), seed=SEEDS)
def test_axes_as_an_attribute(check: Any, made: Any, op: str, axes: Any, keepdims: int, seed: int) -> None:
    x = np.abs(made(np.random.default_rng(seed), (2, 3, 4), "float32")) + np.float32(0.5)
    options = {} if axes is None else {"axes": axes}
    check(op, x, opset=11, keepdims=keepdims, **options)


@pytest.mark.parametrize("op", OPS)
def test_no_axes_may_mean_no_reduction(check: Any, made: Any, op: str) -> None:
    x = np.abs(made(np.random.default_rng(0), (2, 3), "float32")) + np.float32(0.5)
    engines = ["onnxruntime"]
    (kept,) = check(op, x, np.array([], np.int64), noop_with_empty_axes=1, keepdims=0, engines=engines)
    assert kept.shape == (2, 3)
    check(op, x, noop_with_empty_axes=1, engines=engines)
    check(op, x, np.array([], np.int64), engines=engines)


@pytest.mark.parametrize(
    ("op", "wanted"),
    [
        ("ReduceSum", 0.0), ("ReduceProd", 1.0), ("ReduceMax", -np.inf), ("ReduceMin", np.inf), ("ReduceSumSquare", 0.0),
        ("ReduceL1", 0.0), ("ReduceL2", 0.0), ("ReduceLogSum", -np.inf), ("ReduceLogSumExp", -np.inf), ("ReduceMean", np.nan),
    ],
)  # fmt: skip
def test_nothing_reduces_to_the_neutral_element(compute: Any, op: str, wanted: float) -> None:
    (got,) = compute(op, np.zeros((2, 0, 3), np.float32), np.array([1]), keepdims=0)
    assert got.shape == (2, 3)
    np.testing.assert_array_equal(got, np.float32(wanted))
    assert compute(op, np.zeros((0, 3), np.float32), np.array([1]))[0].shape == (0, 1)


@pytest.mark.parametrize("op", OPS)
def test_a_scalar_reduces_to_itself(check: Any, op: str) -> None:
    check(op, np.array(2.0, np.float32), engines=["onnxruntime"])


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool", "int32"])
def test_extremes_of_small_types(check: Any, made: Any, op: str, dtype: str) -> None:
    x = made(np.random.default_rng(0), (3, 4), dtype, special=dtype != "bool")
    check(op, x, np.array([1]), opset=20, keepdims=0)


def test_an_empty_extreme_of_integers_is_the_other_end(compute: Any) -> None:
    x = np.zeros((0, 2), np.int8)
    assert compute("ReduceMax", x, np.array([0]), keepdims=0)[0].tolist() == [-128, -128]
    assert compute("ReduceMin", x, np.array([0]), keepdims=0)[0].tolist() == [127, 127]


def test_the_mean_of_integers_is_truncated(check: Any) -> None:
    (got,) = check("ReduceMean", np.array([-3, 1, -5], np.int32), engines=["onnxruntime"])
    assert got.tolist() == [-2]
    big = np.full(2, (1 << 60) + 1, np.int64)
    assert check("ReduceMean", big, engines=[])[0].tolist() == [(1 << 60) + 1]


def test_log_sum_exp_does_not_overflow(check: Any) -> None:
    x = np.array([[1e4, 1e4], [-1e4, -1e4], [-np.inf, -np.inf], [np.inf, 0.0], [np.nan, 0.0]], np.float32)
    (got,) = check("ReduceLogSumExp", x, np.array([1]), keepdims=0, engines=[])
    want = np.array([1e4 + np.log(2), -1e4 + np.log(2), -np.inf, np.inf, np.nan], np.float32)
    np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMean"])
def test_narrow_sums_are_taken_in_float32(compute: Any, op: str, dtype: Any) -> None:
    x = np.ones((1, 4096), dtype)
    (got,) = compute(op, x, np.array([1]), keepdims=0)
    assert got.dtype == dtype
    assert got.astype(np.float32).tolist() == [4096.0 if op == "ReduceSum" else 1.0]


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@given(
    axis=st.integers(-3, 2), keepdims=st.integers(0, 1), last=st.integers(0, 1), dtype=st.sampled_from(["float32", "int32", "uint8"]),
    seed=SEEDS,
)  # fmt: skip
def test_where_the_extreme_is(check: Any, op: str, axis: int, keepdims: int, last: int, dtype: str, seed: int) -> None:
    x = np.random.default_rng(seed).integers(0, 3, (2, 3, 4)).astype(dtype)
    (got,) = check(op, x, axis=axis, keepdims=keepdims, select_last_index=last)
    assert got.dtype == np.int64
