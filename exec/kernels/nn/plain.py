"""Convolutions and normalisations with one order of additions, whatever the shape, the layout and the threads.

Slower than the others; they verify that a rewrite which claims equal bits keeps them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from exec.arrays import Array
from exec.kernels.fixed import fixed_matmul, fixed_sum
from exec.kernels.nn.conv import check_channels, gathered
from exec.kernels.nn.conv_transpose import full_size, scatter_taps, transposed_window
from exec.kernels.nn.window import inner, window
from exec.kernels.registry import kernel
from exec.kernels.widen import widened


@kernel("Conv", variant="plain")
@widened
def plain_conv(
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
    """Conv whose sums go through channels and taps in order."""
    check_channels(x, w, group)
    g = window(x.shape[2:], w.shape[2:], strides, pads, dilations, auto_pad)
    n, outputs = x.shape[0], w.shape[0]
    if x.size == 0 or w.size == 0 or math.prod(g.out) == 0:
        y = np.zeros((n, outputs, *g.out), x.dtype)
    else:
        columns = gathered(x, g, group)
        y = fixed_matmul(w.reshape(group, outputs // group, -1), columns).reshape(n, outputs, *g.out)
    return y if b is None else np.asarray(y + b.reshape(-1, *[1] * (x.ndim - 2)))


@kernel("ConvTranspose", variant="plain")
@widened
def plain_conv_transpose(
    x: Array,
    w: Array,
    b: Array | None = None,
    /,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """ConvTranspose whose sums go through channels, then taps, in order."""
    g = transposed_window(x.shape[2:], w.shape[2:], strides, pads, dilations, auto_pad, output_padding, output_shape)
    n, outputs = x.shape[0], w.shape[1] * group
    full = np.zeros((n, outputs, *[max(f, s) for f, s in zip(full_size(g), g.needed, strict=True)]), x.dtype)
    if x.size:
        weights = w.reshape(group, w.shape[0] // group, -1).transpose(0, 2, 1)
        parts = fixed_matmul(weights, x.reshape(n, group, x.shape[1] // group, -1))
        scatter_taps(parts.reshape(n, outputs, *g.kernel, *g.out), full, g)
    y = inner(full, g.before, g.size)
    return np.asarray(y + b.reshape(-1, *[1] * g.rank)) if b is not None else np.ascontiguousarray(y)


@kernel("GlobalAveragePool", variant="plain")
@widened
def plain_global_average_pool(x: Array, /) -> Array:
    """GlobalAveragePool that adds up in order."""
    axes = tuple(range(2, x.ndim))
    count = x.dtype.type(math.prod(x.shape[2:]))
    return np.asarray(fixed_sum(x, axes, True) / count)
