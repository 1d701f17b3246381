"""Pad in all its versions, and CenterCropPad."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exec.arrays import Array, Value
from exec.budget import element_count
from exec.errors import ExecutionError
from exec.kernels.growth import ask, fitting
from exec.kernels.registry import kernel


@kernel("Pad")
def pad_1(x: Array, /, *, paddings: Sequence[int], mode: str = "constant", value: float = 0.0) -> Array:
    """Pad in version 1, where `pads` is called `paddings`."""
    return padded(x, paddings, range(x.ndim), mode, value)


@kernel("Pad", since=2)
def pad_2(x: Array, /, *, pads: Sequence[int], mode: str = "constant", value: float = 0.0) -> Array:
    """Pad with attributes, before opset 11."""
    return padded(x, pads, range(x.ndim), mode, value)


@kernel("Pad", since=11)
def pad(
    x: Array, pads: Array, value: Array | None = None, axes: Array | None = None, /, *, mode: str = "constant"
) -> Array:
    """x with `pads[k]` elements before and `pads[k + n]` after on the k-th of n axes; a negative pad crops.

    mode    constant (by default zero, false or ""), edge, reflect (without repeating the edge), wrap
    """
    fill = value.reshape(-1)[0] if value is not None and value.size else None
    along = range(x.ndim) if axes is None else axes.reshape(-1).tolist()
    return padded(x, pads.reshape(-1).tolist(), along, mode, fill)


def padded(x: Array, pads: Sequence[int], axes: Sequence[int], mode: str, value: Value) -> Array:
    """x cropped by the negative pads, then extended by the others."""
    if len(pads) != 2 * len(axes):
        raise ExecutionError(f"Pad needs two pads for each of {len(axes)} axes, it got {len(pads)}")
    before, after = [0] * x.ndim, [0] * x.ndim
    for k, axis in enumerate(axes):
        before[axis], after[axis] = int(pads[k]), int(pads[k + len(axes)])
    # max(…, 0): a crop from the end that passes the start leaves nothing
    x = x[tuple(slice(max(-b, 0), max(d + min(a, 0), 0)) for b, a, d in zip(before, after, x.shape, strict=True))]
    low, high = [max(b, 0) for b in before], [max(a, 0) for a in after]
    if not any(low) and not any(high):
        return x
    shape = fitting((b + d + a for b, d, a in zip(low, x.shape, high, strict=True)), x.dtype)
    if mode != "constant":
        # beside the result, what it is taken from and where
        ask(2 * element_count(shape) * x.dtype.itemsize + 24 * max(shape))
    if mode == "constant":
        return _framed(x, low, high, value)
    for axis, (b, a) in enumerate(zip(low, high, strict=True)):
        if b or a:
            x = np.take(x, _source(x.shape[axis], b, a, mode), axis)
    return x


def _framed(x: Array, low: Sequence[int], high: Sequence[int], value: Value) -> Array:
    shape = tuple(b + d + a for b, d, a in zip(low, x.shape, high, strict=True))
    if value is None:
        value = "" if x.dtype.kind == "O" else 0
    y = np.full(shape, value, x.dtype)
    y[tuple(slice(b, b + d) for b, d in zip(low, x.shape, strict=True))] = x
    return y


def _source(dim: int, before: int, after: int, mode: str) -> Array:
    """For each place of a padded axis, the place of its value in the axis as it was."""
    place = np.arange(-before, dim + after)
    if mode == "edge":
        return np.clip(place, 0, dim - 1)
    if mode == "wrap":
        return place % dim
    if mode == "reflect":
        turn = max(2 * (dim - 1), 1)
        place = place % turn
        return np.minimum(place, turn - place) if dim > 1 else np.zeros_like(place)
    raise ExecutionError(f"the padding mode '{mode}' is unknown", why="known are constant, edge, reflect and wrap")


@kernel("CenterCropPad", since=18)
def center_crop_pad(x: Array, shape: Array, /, *, axes: Sequence[int] | None = None) -> Array:
    """x cropped or padded with zeros, evenly on both sides, to `shape` along `axes`; the odd element is at the end."""
    along = range(x.ndim) if axes is None else axes
    low, high = [0] * x.ndim, [0] * x.ndim
    for axis, wanted in zip(along, shape.tolist(), strict=True):
        missing = wanted - x.shape[axis]
        if missing >= 0:
            low[axis], high[axis] = missing // 2, missing - missing // 2
        else:
            low[axis], high[axis] = -(-missing // 2), missing + -missing // 2
    return padded(x, low + high, range(x.ndim), "constant", None)
