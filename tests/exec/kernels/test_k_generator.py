"""Constants, ranges and random numbers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from exec.errors import ExecutionError


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        ({"value_float": 1.5}, np.float32), ({"value_floats": [1.5, 2.5]}, np.float32), ({"value_int": 7}, np.int64),
        ({"value_ints": [7, 8]}, np.int64), ({"value_string": "a"}, object), ({"value_strings": ["a", "b"]}, object),
        ({"value_ints": []}, np.int64),
    ],
)  # fmt: skip
def test_a_constant_of_every_form(compute: Any, given: dict[str, Any], dtype: Any) -> None:
    (got,) = compute("Constant", **given)
    (value,) = given.values()
    assert got.dtype == dtype
    assert got.tolist() == value


def test_a_tensor_constant_is_passed_on(compute: Any) -> None:
    value = np.arange(6, dtype=np.float16).reshape(2, 3)
    assert compute("Constant", value=value)[0] is value


@pytest.mark.parametrize("indices", [[1, 3, 5], [[0, 1], [1, 0], [1, 2]]])
def test_a_sparse_constant_becomes_dense(compute: Any, indices: Any) -> None:
    index = np.array(indices, np.int64)
    values = helper.make_tensor("v", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0])
    sparse = helper.make_sparse_tensor(
        values, helper.make_tensor("i", TensorProto.INT64, index.shape, index.reshape(-1)), [2, 3]
    )
    (got,) = compute("Constant", sparse_value=sparse)
    assert got.tolist() == [[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]]


def test_a_constant_without_a_value_is_refused(compute: Any) -> None:
    with pytest.raises(ExecutionError, match="has no value"):
        compute("Constant")


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "uint8", "float16"])
def test_constant_of_shape(check: Any, dtype: str) -> None:
    check("ConstantOfShape", np.array([2, 3]), value=np.array([1], dtype))
    check("ConstantOfShape", np.array([0, 3]), value=np.array([1], dtype))
    check("ConstantOfShape", np.array([], np.int64), value=np.array([1], dtype), engines=["onnxruntime"])
    check("ConstantOfShape", np.array([2]))


@pytest.mark.parametrize("k", [-1, 0, 2])
def test_eye_like(check: Any, k: int) -> None:
    check("EyeLike", np.zeros((3, 4), np.int32), k=k)
    check("EyeLike", np.zeros((3, 3), np.float32), k=k, dtype=TensorProto.DOUBLE)


@pytest.mark.parametrize(
    ("start", "limit", "delta"), [(0, 5, 1), (5, 0, -2), (3, 3, 1), (1, 10, 3), (5, 0, 1), (0, 7, 2)]
)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "int16"])
def test_ranges(check: Any, start: int, limit: int, delta: int, dtype: str) -> None:
    numbers = [np.array(v, dtype) for v in (start, limit, delta)]
    if np.dtype(dtype).kind == "f":
        numbers[2] = numbers[2] * np.array(0.75, dtype)
    check("Range", *numbers)


def test_a_long_range_of_narrow_floats_does_not_stop(compute: Any) -> None:
    numbers = [np.array(v, ml_dtypes.bfloat16) for v in (0.0, 512.0, 1.0)]
    (got,) = compute("Range", *numbers, opset=27)
    assert got.shape == (512,)
    assert got.dtype == ml_dtypes.bfloat16
    assert float(got[400]) == 400.0


def test_random_numbers_follow_their_distribution(compute: Any) -> None:
    (normal,) = compute("RandomNormal", shape=[100, 100], mean=2.0, scale=3.0)
    assert normal.dtype == np.float32
    assert abs(normal.mean() - 2.0) < 0.2
    assert abs(normal.std() - 3.0) < 0.2
    (even,) = compute("RandomUniform", shape=[10000], low=-1.0, high=3.0, dtype=TensorProto.DOUBLE)
    assert even.dtype == np.float64
    assert even.min() >= -1.0
    assert even.max() < 3.0
    assert abs(even.mean() - 1.0) < 0.1


@pytest.mark.parametrize("op", ["RandomNormalLike", "RandomUniformLike"])
def test_random_numbers_like_a_tensor(compute: Any, op: str) -> None:
    assert compute(op, np.zeros((2, 3), np.float64))[0].dtype == np.float64
    assert compute(op, np.zeros((2, 3), np.int32))[0].dtype == np.float32
    (got,) = compute(op, np.zeros((2, 3), np.int32), dtype=TensorProto.FLOAT16)
    assert (got.dtype, got.shape) == (np.float16, (2, 3))


def test_a_seed_repeats_itself(compute: Any) -> None:
    first, second, other = (compute("RandomNormal", shape=[5], seed=seed)[0] for seed in (1.0, 1.0, 2.0))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_bernoulli_draws_with_its_probabilities(compute: Any) -> None:
    p = np.array([[0.0, 1.0, 0.3]] * 20000, np.float32)
    (got,) = compute("Bernoulli", p, dtype=TensorProto.INT32)
    assert got.dtype == np.int32
    share = got.mean(axis=0)
    assert share[0] == 0
    assert share[1] == 1
    assert abs(share[2] - 0.3) < 0.02
    assert compute("Bernoulli", p)[0].dtype == np.float32


def test_multinomial_draws_with_its_probabilities(compute: Any) -> None:
    p = np.array([[0.1, 0.7, 0.2], [0.0, 0.5, 0.5]])
    with np.errstate(divide="ignore"):
        (got,) = compute("Multinomial", np.log(p).astype(np.float32), sample_size=20000)
    assert (got.dtype, got.shape) == (np.int32, (2, 20000))
    for row, wanted in zip(got, p, strict=True):
        share = np.bincount(row, minlength=3) / row.size
        assert np.max(np.abs(share - wanted)) < 0.02


def test_sparse_initializers_and_constants_are_the_same_thing() -> None:
    from exec.kernels.generator import dense

    values = helper.make_tensor("v", TensorProto.INT64, [1], [5])
    sparse = onnx.SparseTensorProto(
        values=values, indices=helper.make_tensor("i", TensorProto.INT64, [1], [2]), dims=[4]
    )
    assert dense(sparse).tolist() == [0, 0, 5, 0]
