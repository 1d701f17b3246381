"""Relatives of convolution: the columns put back, deformed windows, and the causal one with a state."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.growth import ask, fitting
from exec.kernels.nn.conv import convolve
from exec.kernels.nn.conv_transpose import scatter_taps
from exec.kernels.nn.window import Window, inner, window
from exec.kernels.registry import kernel
from exec.kernels.widen import widened


@kernel("Col2Im", since=18)
def col2im(
    columns: Array,
    image_shape: Array,
    block_shape: Array,
    /,
    *,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """Add blocks back into the image they were cut from.

    Shapes  columns (N, C·Π block, blocks); the result (N, C, *image_shape).
    Spec    ONNX Col2Im-18.
    """
    size, kernel_shape = tuple(image_shape.tolist()), tuple(block_shape.tolist())
    g = window(size, kernel_shape, strides, pads, dilations)
    if columns.shape[2] != math.prod(g.out) or columns.shape[1] % math.prod(kernel_shape):
        raise ExecutionError(f"{columns.shape[2]} blocks were given, the shapes imply {math.prod(g.out)}")
    n, channels = columns.shape[0], columns.shape[1] // math.prod(kernel_shape)
    padded = [b + s + a for b, s, a in zip(g.before, g.size, g.after, strict=True)]
    full = np.zeros(fitting((n, channels, *padded), columns.dtype), columns.dtype)
    scatter_taps(columns.reshape(n, channels, *g.kernel, *g.out), full, g)
    return np.ascontiguousarray(inner(full, g.before, g.size))


@kernel("CausalConvWithState", since=27)
@widened
def causal_conv_with_state(
    x: Array,
    w: Array,
    bias: Array | None = None,
    past_state: Array | None = None,
    /,
    *,
    activation: str = "none",
    n_outputs: int = 1,
) -> Array | tuple[Array, ...]:
    """A depthwise convolution that sees the past only, and hands its last inputs on.

    Shapes  x (N, C, L); w (C, 1, K); states (N, C, K − 1).
    Spec    ONNX CausalConvWithState-27.
    """
    if activation not in ("none", "silu", "swish"):
        raise ExecutionError(f"activation '{activation}' is none of none, silu, swish")
    keep = w.shape[2] - 1
    past = np.zeros((*x.shape[:2], keep), x.dtype) if past_state is None else past_state
    line = np.concatenate((past, x), axis=2)
    y = convolve(line, w, window(line.shape[2:], w.shape[2:]), x.shape[1])
    if bias is not None:
        y += bias.reshape(-1, 1)
    if activation != "none":
        y /= 1 + np.exp(-y)
    return (y, line[:, :, line.shape[2] - keep :])[:n_outputs] if n_outputs > 1 else y


@kernel("DeformConv", since=19)
@widened
def deform_conv(
    x: Array,
    w: Array,
    offset: Array,
    b: Array | None = None,
    mask: Array | None = None,
    /,
    *,
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    offset_group: int = 1,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """A convolution whose taps lie where `offset` moves them, read bilinearly, weighted by `mask`.

    Shapes  x (N, C, H, W); w (M, C/group, kh, kw); offset (N, offset_group·kh·kw·2, oh, ow); mask without the 2.
    Spec    ONNX DeformConv-19, -22. Outside the image a tap reads zeros.
    """
    if x.ndim != 4:
        raise ExecutionError(f"x has {x.ndim - 2} spatial axes; two are run")
    g = window(x.shape[2:], w.shape[2:], strides, pads, dilations)
    n, channels = x.shape[:2]
    taps, places = math.prod(g.kernel), math.prod(g.out)
    ask(n * taps * places * (2 * channels * x.itemsize + 64 * offset_group))
    moved = offset.reshape(n, offset_group, *g.kernel, 2, *g.out)
    rows = moved[:, :, :, :, 0] + _grid(g, 0)
    columns = moved[:, :, :, :, 1] + _grid(g, 1)
    planes = x.reshape(n, offset_group, channels // offset_group, -1)
    values = _bilinear(planes, x.shape[2:], rows.reshape(n, offset_group, -1), columns.reshape(n, offset_group, -1))
    if mask is not None:
        values *= mask.reshape(n, offset_group, 1, -1)
    gathered = values.reshape(n, group, channels // group * taps, places)
    y: Array = np.matmul(w.reshape(group, w.shape[0] // group, -1), gathered).reshape(n, w.shape[0], *g.out)
    if b is not None:
        y += b.reshape(-1, 1, 1)
    return y


def _grid(g: Window, axis: int) -> Array:
    """Unmoved coordinate along `axis` of every tap of every window, (kh, kw, oh, ow) with ones."""
    shape = [1, 1, 1, 1]
    shape[axis] = -1
    taps = (np.arange(g.kernel[axis]) * g.dilations[axis]).reshape(shape)
    shape = [1, 1, 1, 1]
    shape[2 + axis] = -1
    return taps + (np.arange(g.out[axis]) * g.strides[axis] - g.before[axis]).reshape(shape)


def _bilinear(planes: Array, size: Sequence[int], rows: Array, columns: Array) -> Array:
    """`planes` (N, G, C, H·W) read at (rows, columns), each (N, G, P): (N, G, C, P)."""
    height, width = size
    top, left = np.floor(rows), np.floor(columns)
    total = np.zeros((*planes.shape[:3], rows.shape[2]), planes.dtype)
    for dy in (0, 1):
        for dx in (0, 1):
            y, x = top + dy, left + dx
            share = (1 - np.abs(rows - y)) * (1 - np.abs(columns - x))
            inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
            at = np.where(inside, y * width + x, 0).astype(np.int64)
            read = np.take_along_axis(planes, at[:, :, None], axis=3)
            total += read * np.where(inside, share, 0).astype(planes.dtype)[:, :, None]
    return total
