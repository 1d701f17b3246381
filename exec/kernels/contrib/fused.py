"""Products and convolutions with what onnxruntime's optimizer fused into them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.contrib.activation import DOMAIN
from exec.kernels.math import activation as activations
from exec.kernels.math.matmul import gemm, matmul
from exec.kernels.math.rounding import clip_6
from exec.kernels.math.trigonometry import tanh
from exec.kernels.nn.conv import conv
from exec.kernels.nn.plain import plain_conv
from exec.kernels.registry import kernel
from exec.kernels.widen import widened


def activated(y: Array, name: str | None, parameters: Sequence[float] = ()) -> Array:
    """`y` through the activation a fused node names, or as it is."""
    if not name:
        return y
    if name == "Relu":
        return activations.relu(y)
    if name == "Tanh":
        return tanh(y)
    if name == "Sigmoid":
        return activations.sigmoid(y)
    if name == "LeakyRelu":
        return activations.leaky_relu(y, alpha=parameters[0] if parameters else 0.01)
    if name == "Clip":
        return clip_6(y, min=parameters[0], max=parameters[1])
    if name == "HardSigmoid":
        return activations.hard_sigmoid(y, alpha=parameters[0], beta=parameters[1])
    if name == "HardSwish":
        return activations.hard_swish(y)
    if name == "Elu":
        return activations.elu(y, alpha=parameters[0] if parameters else 1.0)
    raise ExecutionError(f"the fused activation '{name}' is unknown")


@kernel("FusedConv", domain=DOMAIN)
@widened
def fused_conv(
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
    """activation(Conv(x, w, b) + z)."""
    y = conv(x, w, b, auto_pad=auto_pad, dilations=dilations, group=group, pads=pads, strides=strides)
    return activated(y if z is None else y + z, activation, activation_params or ())


@kernel("FusedConv", domain=DOMAIN, variant="plain")
@widened
def plain_fused_conv(
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
    """The same over the plain Conv, for bits that are compared."""
    y = plain_conv(x, w, b, auto_pad=auto_pad, dilations=dilations, group=group, pads=pads, strides=strides)
    return activated(y if z is None else y + z, activation, activation_params or ())


@kernel("FusedGemm", domain=DOMAIN)
@widened
def fused_gemm(
    a: Array,
    b: Array,
    c: Array | None = None,
    /,
    *,
    activation: str | None = None,
    activation_alpha: float | None = None,
    activation_beta: float | None = None,
    activation_gamma: float | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Array:
    """activation(Gemm(a, b, c))."""
    y = gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)
    given = [p for p in (activation_alpha, activation_beta, activation_gamma) if p is not None]
    return activated(y, activation, given)


@kernel("FusedMatMul", domain=DOMAIN)
@widened
def fused_matmul(
    a: Array,
    b: Array,
    /,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    transBatchA: int = 0,
    transBatchB: int = 0,
) -> Array:
    """alpha · A' B': transX swaps the last two axes; transBatchX first moves the first axis behind the batch axes."""
    y = matmul(_turned(a, transA, transBatchA), _turned(b, transB, transBatchB))
    return y if alpha == 1.0 else np.asarray(y * y.dtype.type(alpha))


@kernel("TransposeMatMul", domain=DOMAIN)
@widened
def transpose_matmul(a: Array, b: Array, /, *, alpha: float = 1.0, transA: int = 0, transB: int = 0) -> Array:
    """FusedMatMul under its older name."""
    return fused_matmul(a, b, alpha=alpha, transA=transA, transB=transB)


def _turned(x: Array, transpose: int, batch: int) -> Array:
    if batch and x.ndim > 2:
        x = np.moveaxis(x, 0, -2)
    return x.swapaxes(-1, -2) if transpose and x.ndim > 1 else x
