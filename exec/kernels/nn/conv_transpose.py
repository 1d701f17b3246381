"""Transposed convolution: the matrix product first, then each tap's part is added where it belongs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.nn.window import Window, inner, tap
from exec.kernels.registry import kernel
from exec.kernels.widen import widened


@kernel("ConvTranspose")
@widened
def conv_transpose(
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
    """The gradient of a convolution with respect to its input.

    Shapes  x (N, C, *size); w (C, M/group, *kernel); b (M); the result (N, M, *out) with
            out = strides·(size − 1) + output_padding + dilations·(kernel − 1) + 1 − pads.
    Spec    ONNX ConvTranspose-1, -11, -22. `output_shape` wins over `pads`; its padding is split as `auto_pad` says.
    """
    if x.ndim != w.ndim or x.shape[1] != w.shape[0] or w.shape[0] % group:
        raise ExecutionError(f"x {list(x.shape)} does not fit weights {list(w.shape)} in {group} groups")
    g = transposed_window(x.shape[2:], w.shape[2:], strides, pads, dilations, auto_pad, output_padding, output_shape)
    n, outputs = x.shape[0], w.shape[1] * group
    full = np.zeros((n, outputs, *[max(a, b) for a, b in zip(full_size(g), g.needed, strict=True)]), x.dtype)
    if x.size:
        weights = w.reshape(group, w.shape[0] // group, -1).transpose(0, 2, 1)
        parts = np.matmul(weights, x.reshape(n, group, x.shape[1] // group, -1))
        scatter_taps(parts.reshape(n, outputs, *g.kernel, *g.out), full, g)
    y = inner(full, g.before, g.size)
    return y + b.reshape(-1, *[1] * g.rank) if b is not None else np.ascontiguousarray(y)


def full_size(g: Window) -> tuple[int, ...]:
    """Size of the result before its pads are cut away."""
    return tuple(b + s + max(a, 0) for b, s, a in zip(g.before, g.size, g.after, strict=True))


def scatter_taps(parts: Array, full: Array, g: Window) -> None:
    """Add `parts` (N, M, *kernel, *windows) into `full`, each tap at its place."""
    for index in np.ndindex(g.kernel):
        target = tap(full, g, index)
        target += parts[(slice(None), slice(None), *index)]


def transposed_window(
    size: Sequence[int],
    kernel_shape: Sequence[int],
    strides: Sequence[int] | None,
    pads: Sequence[int] | None,
    dilations: Sequence[int] | None,
    auto_pad: str,
    output_padding: Sequence[int] | None,
    output_shape: Sequence[int] | None,
) -> Window:
    """The geometry of the convolution this one transposes: its `size` is our output, its `out` is our input."""
    rank = len(size)
    kernel_shape = tuple(kernel_shape)
    strides = tuple(strides) if strides else (1,) * rank
    dilations = tuple(dilations) if dilations else (1,) * rank
    extra = tuple(output_padding) if output_padding else (0,) * rank
    extent = [(k - 1) * d + 1 for k, d in zip(kernel_shape, dilations, strict=True)]
    full = [s * (n - 1) + p + e for s, n, p, e in zip(strides, size, extra, extent, strict=True)]
    if output_shape or auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        wanted = list(output_shape)[-rank:] if output_shape else [n * s for n, s in zip(size, strides, strict=True)]
        total = [max(0, f - o) for f, o in zip(full, wanted, strict=True)]
        small, large = [t // 2 for t in total], [t - t // 2 for t in total]
        before, after = (small, large) if auto_pad == "SAME_UPPER" else (large, small)
    else:
        given = list(pads) if pads and auto_pad != "VALID" else [0] * (2 * rank)
        before, after = given[:rank], given[rank:]
        wanted = [f - b - a for f, b, a in zip(full, before, after, strict=True)]
    if min(wanted) < 0 or math.prod(kernel_shape) == 0:
        raise ExecutionError(f"the result would have the shape {wanted}")
    return Window(tuple(wanted), kernel_shape, strides, dilations, tuple(before), tuple(after), tuple(size))
