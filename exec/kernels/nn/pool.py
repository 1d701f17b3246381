"""Pooling: one pass per tap, axis by axis where the reduction allows it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.kernels.growth import fitting
from exec.kernels.nn.window import Window, padded, window, windows
from exec.kernels.registry import kernel
from exec.kernels.widen import widened

Combine = Callable[..., Array]


def fold_taps(x: Array, g: Window, combine: Combine, value: float) -> Array:
    """`combine` over every window of `x` padded with `value`: taps of one axis after those of the other.

    Σ kernel passes instead of Π kernel: maximum and sum do not mind in which order.
    """
    y = padded(x, g, value)
    for axis in range(g.rank):
        y = _fold_axis(y, g, axis, combine)
    return y


def _fold_axis(x: Array, g: Window, axis: int, combine: Combine) -> Array:
    where = x.ndim - g.rank + axis
    out, stride, step, count = g.out[axis], g.strides[axis], g.dilations[axis], g.kernel[axis]
    if step == 1 and stride == count and x.shape[where] == out * count and count > 2:
        folded = x.reshape(*x.shape[:where], out, count, *x.shape[where + 1 :])
        return combine.reduce(folded, axis=where + 1)  # type: ignore[attr-defined, no-any-return]
    lead = (slice(None),) * where

    def part(i: int) -> Array:
        return x[(*lead, slice(i * step, i * step + (out - 1) * stride + 1, stride) if out else slice(0, 0))]

    y = part(0).copy()
    for i in range(1, count):
        combine(y, part(i), out=y)
    return y


def lowest(dtype: np.dtype[Any]) -> float:
    """What padding must be so that a maximum never takes it."""
    return -math.inf if dtype.kind in "fV" else float(np.iinfo(dtype).min)


@kernel("MaxPool")
@widened
def max_pool(
    x: Array,
    /,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    storage_order: int = 0,
    strides: Sequence[int] | None = None,
    n_outputs: int = 1,
) -> Array | tuple[Array, Array]:
    """The largest element of each window, and where it lies.

    Shapes  x (N, C, *size); results (N, C, *out). Indices count through the whole unpadded `x`, in row-major order
            (storage_order 0) or, for the spatial axes, column-major (1).
    Spec    ONNX MaxPool-1, -8, -10, -11, -12, -22.
    """
    g = window(x.shape[2:], kernel_shape, strides, pads, dilations, auto_pad, ceil_mode)
    low = lowest(x.dtype)
    if n_outputs == 1:
        return fold_taps(x, g, np.maximum, low)
    view = windows(padded(x, g, low), g)
    best = view.reshape(*x.shape[:2], *g.out, -1).argmax(axis=-1)
    y = fold_taps(x, g, np.maximum, low)
    places = _places(best, g)
    spatial = list(range(g.rank))
    weights = _strides_of(g.size, spatial if storage_order == 0 else spatial[::-1])
    flat = sum((p * s for p, s in zip(places, weights, strict=True)), np.zeros((), np.int64))
    planes = np.arange(math.prod(x.shape[:2]), dtype=np.int64).reshape(*x.shape[:2], *[1] * g.rank)
    return y, np.asarray(planes * math.prod(g.size) + flat, np.int64)


def _places(best: Array, g: Window) -> list[Array]:
    """Per spatial axis, the coordinate in the unpadded input of the winning tap."""
    places = []
    for axis, taps in enumerate(np.unravel_index(best, g.kernel)):
        shape = [1] * best.ndim
        shape[best.ndim - g.rank + axis] = g.out[axis]
        start = np.arange(g.out[axis], dtype=np.int64).reshape(shape) * g.strides[axis] - g.before[axis]
        places.append(start + taps * g.dilations[axis])
    return places


def _strides_of(size: Sequence[int], order: Sequence[int]) -> list[int]:
    """Elements between neighbours along each axis when the last of `order` runs fastest."""
    result, step = [0] * len(size), 1
    for axis in reversed(order):
        result[axis] = step
        step *= size[axis]
    return result


@kernel("AveragePool")
@widened
def average_pool(
    x: Array,
    /,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """The mean of each window.

    Shapes  x (N, C, *size); the result (N, C, *out).
    Spec    ONNX AveragePool-1, -7, -10, -11, -19, -22. Padding counts only with count_include_pad, and what a
            window of ceil_mode reaches beyond the padding never does.
    """
    g = window(x.shape[2:], kernel_shape, strides, pads, dilations, auto_pad, ceil_mode)
    total = fold_taps(x, g, np.add, 0)
    total /= counts(g, bool(count_include_pad)).astype(x.dtype)
    return total


def counts(g: Window, include_padding: bool) -> Array:
    """How many elements of each window count, (*out)."""
    result = np.ones((1,) * g.rank, np.int64)
    for axis in range(g.rank):
        start = np.arange(g.out[axis]) * g.strides[axis] - g.before[axis]
        places = start[:, None] + np.arange(g.kernel[axis]) * g.dilations[axis]
        low = -g.before[axis] if include_padding else 0
        high = g.size[axis] + (g.after[axis] if include_padding else 0)
        count = ((places >= low) & (places < high)).sum(axis=1)
        shape = [1] * g.rank
        shape[axis] = -1
        result = result * count.reshape(shape)
    return result


@kernel("LpPool")
@widened
def lp_pool(
    x: Array,
    /,
    *,
    kernel_shape: Sequence[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    p: float = 2,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """(Σ |x|^p)^(1/p) over each window.

    Shapes  x (N, C, *size); the result (N, C, *out).
    Spec    ONNX LpPool-1 (p a float), -2, -11, -18, -22.
    """
    g = window(x.shape[2:], kernel_shape, strides, pads, dilations, auto_pad, ceil_mode)
    return root(fold_taps(power(x, p), g, np.add, 0), p)


def power(x: Array, p: float) -> Array:
    """|x|^p."""
    return x * x if p == 2 else np.abs(x) if p == 1 else np.power(np.abs(x), x.dtype.type(p))


def root(x: Array, p: float) -> Array:
    """x^(1/p)."""
    return np.sqrt(x) if p == 2 else x if p == 1 else np.power(x, x.dtype.type(1 / p))


@kernel("MaxUnpool")
def max_unpool(
    x: Array,
    indices: Array,
    output_shape: Array | None = None,
    /,
    *,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """Put each element of `x` back where MaxPool took it from; the rest is zero.

    Shapes  x, indices (N, C, *size); the result (N, C, *out) of the pool's input.
    Spec    ONNX MaxUnpool-9, -11, -22. Indices count through the tensor the pads and strides imply, also when
            `output_shape` asks for a larger one.
    """
    rank = x.ndim - 2
    strides = strides or (1,) * rank
    pads = pads or (0,) * (2 * rank)
    implied = tuple(
        (n - 1) * s - pads[k] - pads[k + rank] + kernel_shape[k]
        for k, (n, s) in enumerate(zip(x.shape[2:], strides, strict=True))
    )
    y = np.zeros((*x.shape[:2], *implied), x.dtype)
    y.reshape(-1)[indices.reshape(-1)] = x.reshape(-1)
    if output_shape is None or tuple(output_shape.tolist()) == y.shape:
        return y
    larger = np.zeros(tuple(output_shape.tolist()), x.dtype)
    larger[tuple(slice(0, n) for n in y.shape)] = y
    return larger


def _spatial(x: Array) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


@kernel("GlobalAveragePool")
@widened
def global_average_pool(x: Array, /) -> Array:
    """The mean over all spatial axes, kept with length 1: (N, C, *size) to (N, C, 1, …)."""
    return np.asarray(x.mean(axis=_spatial(x), keepdims=True, dtype=x.dtype))


@kernel("GlobalMaxPool")
def global_max_pool(x: Array, /) -> Array:
    """The maximum over all spatial axes, kept with length 1: (N, C, *size) to (N, C, 1, …)."""
    return np.asarray(x.max(axis=_spatial(x), keepdims=True))


@kernel("GlobalLpPool")
@widened
def global_lp_pool(x: Array, /, *, p: float = 2) -> Array:
    """(Σ |x|^p)^(1/p) over all spatial axes, kept with length 1."""
    return root(power(x, p).sum(axis=_spatial(x), keepdims=True, dtype=x.dtype), p)


@kernel("MaxRoiPool")
@widened
def max_roi_pool(x: Array, rois: Array, /, *, pooled_shape: Sequence[int], spatial_scale: float = 1.0) -> Array:
    """The maximum over each cell of a grid laid on each region.

    Shapes  x (N, C, H, W); rois (R, 5): batch index, x1, y1, x2, y2; the result (R, C, *pooled_shape).
    Spec    ONNX MaxRoiPool-1. A cell without an element is 0.
    """
    y = np.zeros(fitting((len(rois), x.shape[1], *pooled_shape), x.dtype), x.dtype)
    corners = np.floor(rois[:, 1:] * spatial_scale + 0.5).astype(np.int64)
    for r, (left, top, right, bottom) in enumerate(corners.tolist()):
        rows = _cells(top, bottom, pooled_shape[0], x.shape[2])
        columns = _cells(left, right, pooled_shape[1], x.shape[3])
        plane = x[int(rois[r, 0])]
        for i, (r0, r1) in enumerate(rows):
            if r1 <= r0:
                continue
            band = plane[:, r0:r1].max(axis=1)
            for j, (c0, c1) in enumerate(columns):
                if c1 > c0:
                    y[r, :, i, j] = band[:, c0:c1].max(axis=1)
    return y


def _cells(first: int, last: int, count: int, size: int) -> list[tuple[int, int]]:
    length = max(last - first + 1, 1) / count
    return [
        (min(max(math.floor(k * length) + first, 0), size), min(max(math.ceil((k + 1) * length) + first, 0), size))
        for k in range(count)
    ]
