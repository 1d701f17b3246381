"""Convolution: one matrix product per group over gathered windows, or one multiply-add per tap for lone channels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.nn.window import Window, padded, tap, window, windows
from exec.kernels.registry import kernel
from exec.kernels.widen import widened

FEW_TAPS = 32
"""Up to here a depthwise convolution is faster as one multiply-add per tap than as many small products."""


@kernel("Conv")
@widened
def conv(
    x: Array,
    w: Array,
    b: Array | None = None,
    /,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """Slide `w` over the spatial axes of `x`.

    Shapes  x (N, C, *size); w (M, C/group, *kernel); b (M); the result (N, M, *out).
    Types   float16, bfloat16, float32, float64; narrow floats through float32.
    Spec    ONNX Conv-1, -11, -22.
    """
    check_channels(x, w, group)
    y = convolve(x, w, window(x.shape[2:], w.shape[2:], strides, pads, dilations, auto_pad), group)
    if b is not None:
        y += b.reshape(-1, *[1] * (x.ndim - 2))
    return y


def check_channels(x: Array, w: Array, group: int) -> None:
    """Say which channel counts do not fit, before a matrix product says it in its own words."""
    if x.ndim != w.ndim or x.ndim < 3:
        raise ExecutionError(f"x has rank {x.ndim} and w rank {w.ndim}; both need the batch, channel and spatial axes")
    if x.shape[1] != w.shape[1] * group or w.shape[0] % group:
        raise ExecutionError(
            f"{x.shape[1]} channels do not fit weights {list(w.shape)} in {group} group{'s' if group > 1 else ''}"
        )


def convolve(x: Array, w: Array, g: Window, group: int) -> Array:
    """The convolution without bias; `x` and `w` share a dtype that BLAS knows."""
    n, outputs = x.shape[0], w.shape[0]
    if x.size == 0 or w.size == 0 or math.prod(g.out) == 0:
        return np.zeros((n, outputs, *g.out), x.dtype)
    if group > 1 and w.shape[1] == 1 and math.prod(g.kernel) <= FEW_TAPS:
        return _by_taps(padded(x, g), w, g, group)
    columns = gathered(x, g, group)
    weights = w.reshape(group, outputs // group, -1)
    y: Array = np.matmul(weights, columns)
    return y.reshape(n, outputs, *g.out)


def gathered(x: Array, g: Window, group: int) -> Array:
    """(N, group, C/group · taps, windows): what a weight row is multiplied with ("im2col")."""
    n, channels = x.shape[:2]
    if g.pointwise:
        return x.reshape(n, group, channels // group, -1)
    view = windows(padded(x, g), g)
    order = (0, 1, *range(2 + g.rank, 2 + 2 * g.rank), *range(2, 2 + g.rank))
    return view.transpose(order).reshape(n, group, channels // group * math.prod(g.kernel), math.prod(g.out))


def _by_taps(x: Array, w: Array, g: Window, group: int) -> Array:
    n, outputs = x.shape[0], w.shape[0]
    each = outputs // group
    spatial = (1,) * g.rank
    y = np.zeros((n, group, each, *g.out), x.dtype)
    product = np.empty_like(y)
    for index in np.ndindex(g.kernel):
        weights = w[(slice(None), 0, *index)].reshape(group, each, *spatial)
        np.multiply(tap(x, g, index)[:, :, None], weights, out=product)
        y += product
    return y.reshape(n, outputs, *g.out)
