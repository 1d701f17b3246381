"""Kernels of ONNX family generator: constants, ranges and random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.conversion import converted, dtype_of
from exec.kernels.growth import fitting
from exec.kernels.registry import kernel
from exec.kernels.widen import wide

_FLOAT = 1
_INT32 = 6


@kernel("Constant")
def constant(
    *,
    value: Array | None = None,
    sparse_value: Any = None,
    value_float: float | None = None,
    value_floats: Sequence[float] | None = None,
    value_int: int | None = None,
    value_ints: Sequence[int] | None = None,
    value_string: str | None = None,
    value_strings: Sequence[str] | None = None,
) -> Array:
    """The value of the one attribute that is given; a sparse one (a SparseTensorProto) made dense."""
    if value is not None:
        return value
    if sparse_value is not None:
        return dense(sparse_value)
    for given, dtype in (
        (value_float, np.float32), (value_floats, np.float32), (value_int, np.int64), (value_ints, np.int64),
        (value_string, object), (value_strings, object),
    ):  # fmt: skip
        if given is not None:
            return np.array(given, dtype)
    raise ExecutionError("the Constant has no value")


def dense(sparse: Any) -> Array:
    """The array of a SparseTensorProto: indices are flat, or one row of coordinates per value."""
    from onnx import numpy_helper

    values, indices = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
    y = np.zeros(fitting(sparse.dims, values.dtype), values.dtype)
    if indices.ndim == 2:
        y[tuple(indices.T)] = values
    else:
        y.reshape(-1)[indices] = values
    return y


@kernel("ConstantOfShape", since=9)
def constant_of_shape(shape: Array, /, *, value: Array | None = None) -> Array:
    """A tensor of `shape` filled with the one element of `value`, a float32 zero by default."""
    fill = np.zeros(1, np.float32) if value is None else value
    return np.full(fitting(shape.tolist(), fill.dtype), fill.reshape(-1)[0], fill.dtype)


@kernel("EyeLike", since=9)
def eye_like(x: Array, /, *, dtype: int | None = None, k: int = 0) -> Array:
    """Ones on the k-th diagonal of a matrix as large as x."""
    wanted = x.dtype if dtype is None else dtype_of(dtype)
    return converted(np.eye(x.shape[0], x.shape[1], k, np.float32), wanted)


@kernel("Range", since=11)
def arange(start: Array, limit: Array, delta: Array, /, *, stash_type: int = 1) -> Array:
    """start, start + delta, … before `limit`: max(⌈(limit - start) / delta⌉, 0) numbers."""
    dtype = start.dtype
    first, last, step = (wide(v).reshape(()).item() for v in (start, limit, delta))
    (count,) = fitting((max(math.ceil((last - first) / step), 0),), np.float64)
    if dtype.kind in "iu":
        return np.asarray(first + np.arange(count) * step).astype(dtype)
    carrier = dtype if stash_type != _FLOAT else wide(start).dtype
    return np.asarray(carrier.type(first) + np.arange(count).astype(carrier) * carrier.type(step)).astype(dtype)


def _stream(seed: float | None, rng: np.random.Generator) -> np.random.Generator:
    """The node's own stream if it has a seed, else the run's."""
    return rng if seed is None else np.random.default_rng(np.float32(seed).view(np.uint32))


def _float_type(dtype: int | None, like: Array) -> np.dtype[Any]:
    """The type asked for, else that of `like` if it is a float, else float32."""
    if dtype is not None:
        return dtype_of(dtype)
    return like.dtype if wide(like).dtype.kind == "f" else np.dtype(np.float32)


@kernel("RandomNormal")
def random_normal(
    *,
    dtype: int = _FLOAT,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
    shape: Sequence[int],
    rng: np.random.Generator,
) -> Array:
    """Numbers drawn from a normal distribution."""
    return np.asarray(_stream(seed, rng).normal(mean, scale, fitting(shape, np.float64)), dtype_of(dtype))


@kernel("RandomNormalLike")
def random_normal_like(
    x: Array,
    /,
    *,
    dtype: int | None = None,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
    rng: np.random.Generator,
) -> Array:
    """Numbers drawn from a normal distribution, in the shape of x."""
    return np.asarray(_stream(seed, rng).normal(mean, scale, x.shape), _float_type(dtype, x))


@kernel("RandomUniform")
def random_uniform(
    *,
    dtype: int = _FLOAT,
    high: float = 1.0,
    low: float = 0.0,
    seed: float | None = None,
    shape: Sequence[int],
    rng: np.random.Generator,
) -> Array:
    """Numbers drawn evenly from [low, high)."""
    return np.asarray(_stream(seed, rng).uniform(low, high, fitting(shape, np.float64)), dtype_of(dtype))


@kernel("RandomUniformLike")
def random_uniform_like(
    x: Array,
    /,
    *,
    dtype: int | None = None,
    high: float = 1.0,
    low: float = 0.0,
    seed: float | None = None,
    rng: np.random.Generator,
) -> Array:
    """Numbers drawn evenly from [low, high), in the shape of x."""
    return np.asarray(_stream(seed, rng).uniform(low, high, x.shape), _float_type(dtype, x))


@kernel("Bernoulli", since=15)
def bernoulli(x: Array, /, *, dtype: int | None = None, seed: float | None = None, rng: np.random.Generator) -> Array:
    """1 with the probability x, else 0."""
    drawn = _stream(seed, rng).random(x.shape) < wide(x)
    return converted(drawn, x.dtype if dtype is None else dtype_of(dtype))


@kernel("Multinomial", since=7)
def multinomial(
    x: Array, /, *, dtype: int = _INT32, sample_size: int = 1, seed: float | None = None, rng: np.random.Generator
) -> Array:
    """`sample_size` classes per row, drawn with the probabilities softmax(x): x are unnormalised logarithms.

    Shapes  x (batch, classes) → (batch, sample_size).
    """
    weights = np.exp(wide(x).astype(np.float64) - np.max(wide(x), axis=1, keepdims=True, initial=-np.inf))
    edges = np.cumsum(weights, axis=1)
    rows = fitting((x.shape[0], sample_size, x.shape[1]), np.bool_)[:2]
    drawn = _stream(seed, rng).random(rows) * edges[:, -1:]
    return np.asarray(np.sum(drawn[:, :, None] >= edges[:, None, :], axis=2), dtype_of(dtype))
