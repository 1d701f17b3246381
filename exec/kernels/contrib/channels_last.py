"""Convolutions and pools on images whose channels are the last axis, as onnxruntime's layout optimizer writes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exec.arrays import Array
from exec.kernels.contrib.activation import DOMAIN
from exec.kernels.contrib.fused import activated
from exec.kernels.nn.conv import conv
from exec.kernels.nn.conv_integer import qlinear_conv
from exec.kernels.nn.pool import max_pool
from exec.kernels.registry import kernel
from exec.kernels.widen import widened


def first(x: Array) -> Array:
    """Channels after the batch."""
    return np.moveaxis(x, -1, 1)


def last(x: Array) -> Array:
    """Channels at the end."""
    return np.moveaxis(x, 1, -1)


@kernel("NhwcConv", domain=DOMAIN)
@widened
def nhwc_conv(
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
    """Conv of x (n, h, w, c), its weights as ever (m, c / group, kh, kw)."""
    return last(conv(first(x), w, b, auto_pad=auto_pad, dilations=dilations, group=group, pads=pads, strides=strides))


@kernel("NhwcFusedConv", domain=DOMAIN)
@widened
def nhwc_fused_conv(
    x: Array,
    w: Array,
    b: Array | None = None,
    z: Array | None = None,
    /,
    *,
    activation: str | None = None,
    activation_params: Sequence[float] | None = None,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """activation(NhwcConv(x, w, b) + z)."""
    y = nhwc_conv(x, w, b, auto_pad=auto_pad, dilations=dilations, group=group, pads=pads, strides=strides)
    return activated(y if z is None else np.asarray(y + z), activation, activation_params or ())


@kernel("NhwcMaxPool", domain=DOMAIN)
def nhwc_max_pool(
    x: Array,
    /,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """MaxPool of x (n, h, w, c)."""
    y = max_pool(
        first(x), auto_pad=auto_pad, ceil_mode=ceil_mode, dilations=dilations, kernel_shape=kernel_shape, pads=pads,
        strides=strides,
    )  # fmt: skip
    return last(np.asarray(y))


@kernel("QLinearConv", domain=DOMAIN)
def qlinear_conv_contrib(
    x: Array,
    x_scale: Array,
    x_zero_point: Array,
    w: Array,
    w_scale: Array,
    w_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
    b: Array | None = None,
    /,
    *,
    auto_pad: str = "NOTSET",
    channels_last: int = 0,
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """QLinearConv; with channels_last=1 of x (n, h, w, c), its weights as ever (m, c / group, kh, kw)."""
    y = qlinear_conv(
        first(x) if channels_last else x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, b,
        auto_pad=auto_pad, dilations=dilations, group=group, pads=pads, strides=strides,
    )  # fmt: skip
    return last(y) if channels_last else y
