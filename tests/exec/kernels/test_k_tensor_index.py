"""Reading and writing by index, and choosing by value."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exec.errors import ExecutionError

SEEDS = st.integers(0, 1 << 16)
DTYPES = st.sampled_from(["float32", "float64", "int32", "int64", "uint8", "bool"])


@given(axis=st.integers(-3, 2), shape=st.sampled_from([(), (1,), (4,), (2, 3), (0,)]), dtype=DTYPES, seed=SEEDS)
def test_gather(check: Any, made: Any, axis: int, shape: Any, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = made(rng, (3, 4, 5), dtype)
    indices = rng.integers(-x.shape[axis], x.shape[axis], shape)
    check("Gather", x, indices, axis=axis)
    check("Gather", x, indices.astype(np.int32), axis=axis)


def test_a_gathered_string_stays_a_string(compute: Any) -> None:
    x = np.array(["a", "bc"], object)
    (got,) = compute("Gather", x, np.array(1))
    assert got.shape == ()
    assert got.dtype == object
    assert got.item() == "bc"


def test_an_index_outside_is_an_error(compute: Any) -> None:
    with pytest.raises(IndexError):
        compute("Gather", np.zeros((3, 4), np.float32), np.array([3]))


@given(axis=st.integers(-3, 2), seed=SEEDS)
def test_gather_and_scatter_elements(check: Any, made: Any, axis: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = made(rng, (3, 4, 5), "float32")
    shape = [2, 3, 4]
    shape[axis] = 6
    indices = rng.integers(-x.shape[axis], x.shape[axis], shape)
    only = ["onnxruntime"]  # onnx.reference wants the other axes of full length
    check("GatherElements", x, indices, axis=axis, engines=only)
    for reduction in ("add", "mul", "min", "max"):
        check("ScatterElements", x, indices, made(rng, shape, "float32"), axis=axis, reduction=reduction, engines=only)


@given(axis=st.integers(-2, 1), dtype=DTYPES, seed=SEEDS)
def test_scatter_elements_without_repeats(check: Any, made: Any, axis: int, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = made(rng, (4, 5), dtype)
    indices = np.argsort(rng.random((3, 3)), axis=axis)
    check("ScatterElements", x, indices, made(rng, (3, 3), dtype), axis=axis)
    check("Scatter", x, indices, made(rng, (3, 3), dtype), axis=axis, opset=10, engines=["onnxruntime"])


@given(batch=st.integers(0, 2), depth=st.integers(1, 2), seed=SEEDS)
def test_gather_nd(check: Any, made: Any, batch: int, depth: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = made(rng, (2, 3, 4, 5), "float32")
    dims = x.shape[batch : batch + depth]
    indices = np.stack([rng.integers(-d, d, (*x.shape[:batch], 6)) for d in dims], -1)
    check("GatherND", x, indices, batch_dims=batch)


@given(depth=st.integers(1, 3), reduction=st.sampled_from(["none", "add", "mul", "min", "max"]), seed=SEEDS)
def test_scatter_nd(check: Any, made: Any, depth: int, reduction: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = made(rng, (3, 4, 5), "float32")
    if reduction == "none":
        flat = rng.permutation(int(np.prod(x.shape[:depth])))[:3]
        indices = np.stack(np.unravel_index(flat, x.shape[:depth]), -1).astype(np.int64)
    else:
        indices = np.stack([rng.integers(0, d, 3) for d in x.shape[:depth]], -1)
    updates = made(rng, (3, *x.shape[depth:]), "float32")
    check("ScatterND", x, indices, updates, reduction=reduction)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_are_scattered_too(compute: Any, dtype: Any) -> None:
    x = np.zeros(3, dtype)
    (got,) = compute("ScatterND", x, np.array([[1], [1]]), np.ones(2, dtype), reduction="add")
    assert got.astype(np.float32).tolist() == [0.0, 2.0, 0.0]


def test_an_unknown_reduction_is_named(compute: Any) -> None:
    with pytest.raises(ExecutionError, match="'median' is unknown"):
        compute("ScatterND", np.zeros(3), np.array([[0]]), np.zeros(1), reduction="median")


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_tensor_scatter(check: Any, made: Any, mode: str) -> None:
    rng = np.random.default_rng(0)
    past, update = made(rng, (2, 3, 6, 4), "float32"), made(rng, (2, 3, 2, 4), "float32")
    where = np.array([1, 4]) if mode == "linear" else np.array([5, 3])
    check("TensorScatter", past, update, where, mode=mode, opset=24, engines=["reference"])
    with pytest.raises(ExecutionError, match="do not fit a cache of 6"):
        check("TensorScatter", past, update, np.array([5, 0]), opset=24, engines=[])


@given(axis=st.sampled_from([None, 0, 1, -1]), length=st.integers(0, 3), seed=SEEDS)
def test_compress(check: Any, made: Any, axis: Any, length: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, condition = made(rng, (3, 4), "float32"), made(rng, (length,), "bool")
    check("Compress", x, condition, **({} if axis is None else {"axis": axis}))


@pytest.mark.parametrize(("batch", "time"), [(0, 1), (1, 0)])
def test_reverse_sequence(check: Any, made: Any, batch: int, time: int) -> None:
    x = made(np.random.default_rng(0), (4, 4, 3), "float32")
    check("ReverseSequence", x, np.array([1, 4, 2, 3]), batch_axis=batch, time_axis=time)


@given(dtype=DTYPES, seed=SEEDS)
def test_where_broadcasts(check: Any, made: Any, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    condition = made(rng, (3, 1), "bool")
    check("Where", condition, made(rng, (4,), dtype), made(rng, (2, 1, 1), dtype))
    check("Where", np.array(True), made(rng, (), dtype), made(rng, (), dtype))


@given(shape=st.sampled_from([(5,), (3, 4), (2, 0), (2, 3, 2)]), dtype=DTYPES, seed=SEEDS)
def test_non_zero(check: Any, made: Any, shape: Any, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check("NonZero", np.where(rng.random(shape) < 0.5, made(rng, shape, dtype), np.array(0, dtype)).astype(dtype))


def test_non_zero_of_a_scalar_has_no_axis(compute: Any) -> None:
    assert compute("NonZero", np.array(3.0, np.float32))[0].shape == (0, 1)
    assert compute("NonZero", np.array(0.0, np.float32))[0].shape == (0, 0)


@given(
    axis=st.sampled_from([None, 0, 1, -1]), ordered=st.integers(0, 1), dtype=st.sampled_from(["float32", "int64", "int8"]), seed=SEEDS
)  # fmt: skip
def test_unique(check: Any, axis: Any, ordered: int, dtype: str, seed: int) -> None:
    x = np.random.default_rng(seed).integers(0, 3, (4, 3)).astype(dtype)
    options = {} if axis is None else {"axis": axis}
    check("Unique", x, sorted=ordered, **options, outputs=4, engines=["onnxruntime"])


def test_unique_strings_and_bfloat16(compute: Any) -> None:
    values, first, inverse, counts = compute("Unique", np.array(["b", "a", "b"], object), sorted=0, outputs=4)
    assert values.tolist() == ["b", "a"]
    assert (first.tolist(), inverse.tolist(), counts.tolist()) == ([0, 1], [0, 1, 0], [2, 1])
    narrow = np.array([2, 1, 2], ml_dtypes.bfloat16)
    assert compute("Unique", narrow, opset=28)[0].astype(np.float32).tolist() == [1.0, 2.0]


@given(axis=st.integers(-3, 2), dtype=st.sampled_from(["float32", "int64"]), seed=SEEDS)
def test_one_hot_counts_negative_indices_from_the_back(check: Any, axis: int, dtype: str, seed: int) -> None:
    indices = np.random.default_rng(seed).integers(-7, 7, (2, 3))
    (got,) = check("OneHot", indices, np.array(5), np.array([2, 7], dtype), axis=axis, engines=["onnxruntime"])
    for kind in (np.int32, np.float32):
        (same,) = check("OneHot", indices.astype(kind), np.array(5), np.array([2, 7], dtype), axis=axis, engines=[])
        assert np.array_equal(same, got)


def test_one_hot_before_opset_11_knows_no_negative_index(compute: Any) -> None:
    (got,) = compute("OneHot", np.array([-1, 1]), np.array(2), np.array([0.0, 1.0], np.float32), opset=10)
    assert got.tolist() == [[0.0, 0.0], [0.0, 1.0]]


@given(
    k=st.integers(-6, 6),
    upper=st.integers(0, 1),
    shape=st.sampled_from([(3, 4), (2, 4, 3), (0, 3), (1, 1)]),
    dtype=DTYPES,
)
def test_trilu(check: Any, made: Any, k: int, upper: int, shape: Any, dtype: str) -> None:
    x = made(np.random.default_rng(0), shape, dtype)
    check("Trilu", x, np.array(k), upper=upper, engines=["reference"])
    if dtype in ("float32", "int64"):
        check("Trilu", x, np.array(k), upper=upper, engines=["onnxruntime"])


def test_a_diagonal_far_away(compute: Any) -> None:
    (got,) = compute("Trilu", np.ones((2, 2), np.float32), np.array(np.iinfo(np.int64).min))
    assert got.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_is_nan_and_is_inf(check: Any) -> None:
    x = np.array([0.0, -np.inf, np.inf, np.nan, 1.0], np.float32)
    check("IsNaN", x)
    for negative in (0, 1):
        for positive in (0, 1):
            check("IsInf", x, detect_negative=negative, detect_positive=positive)
