"""Preparing columns: Scaler, Normalizer, Imputer, Binarizer, FeatureVectorizer, ArrayFeatureExtractor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.registry import kernel

DOMAIN = "ai.onnx.ml"


@kernel("ArrayFeatureExtractor", domain=DOMAIN)
def array_feature_extractor(x: Array, indices: Array, /) -> Array:
    """The columns of x at `indices`: its last axis; a vector gives a matrix of one row."""
    taken = np.take(x, indices.reshape(-1), -1)
    return taken.reshape(1, -1) if x.ndim == 1 else taken


@kernel("Binarizer", domain=DOMAIN)
def binarizer(x: Array, /, *, threshold: float = 0.0) -> Array:
    """1 where x > threshold, else 0."""
    return np.asarray(x > threshold).astype(x.dtype)


@kernel("FeatureVectorizer", domain=DOMAIN)
def feature_vectorizer(*xs: Array, inputdimensions: Sequence[int] | None = None) -> Array:
    """The inputs side by side as float32, a vector as one row; each cut or filled with zeros to its dimension."""
    rows = [x.reshape(1, -1) if x.ndim == 1 else x for x in xs]
    widths = [x.shape[1] for x in rows] if inputdimensions is None else list(inputdimensions)
    y = np.zeros((rows[0].shape[0], sum(widths)), np.float32)
    start = 0
    for x, width in zip(rows, widths, strict=True):
        kept = min(width, x.shape[1])
        y[:, start : start + kept] = x[:, :kept]
        start += width
    return y


@kernel("Imputer", domain=DOMAIN)
def imputer(
    x: Array,
    /,
    *,
    imputed_value_floats: Sequence[float] | None = None,
    imputed_value_int64s: Sequence[int] | None = None,
    replaced_value_float: float = 0.0,
    replaced_value_int64: int = 0,
) -> Array:
    """x with every value that equals the replaced one (NaN equals NaN here) changed to its column's imputed value."""
    if x.dtype.kind == "f":
        missing = np.isnan(x) if np.isnan(replaced_value_float) else x == x.dtype.type(replaced_value_float)
        values = imputed_value_floats
    else:
        missing, values = x == replaced_value_int64, imputed_value_int64s
    if not values or len(values) not in (1, x.shape[-1]):
        raise ExecutionError(f"Imputer needs one value, or {x.shape[-1]}, for the type {x.dtype}")
    return np.where(missing, np.array(values, x.dtype), x)


@kernel("Normalizer", domain=DOMAIN)
def normalizer(x: Array, /, *, norm: str = "MAX") -> Array:
    """Each row divided by its largest value (MAX), Σ|x| (L1) or √Σx² (L2); a row whose divisor is 0 stays. float32."""
    rows = x.astype(np.float32)
    axis = 1 if x.ndim > 1 else 0
    if norm == "MAX":
        divisor = np.max(rows, axis=axis, keepdims=True)
    elif norm == "L1":
        divisor = np.sum(np.abs(rows), axis=axis, keepdims=True)
    elif norm == "L2":
        divisor = np.sqrt(np.sum(np.square(rows), axis=axis, keepdims=True))
    else:
        raise ExecutionError(f"the norm '{norm}' is unknown", why="known are MAX, L1 and L2")
    return np.asarray(rows / np.where(divisor == 0, np.float32(1), divisor))


@kernel("Scaler", domain=DOMAIN)
def scaler(x: Array, /, *, offset: Sequence[float] | None = None, scale: Sequence[float] | None = None) -> Array:
    """(x - offset) · scale per column, in float32."""
    y = x.astype(np.float32)
    if offset:
        y = y - np.array(offset, np.float32)
    if scale:
        y = y * np.array(scale, np.float32)
    return np.asarray(y)
