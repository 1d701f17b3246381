"""Activations of one operand, written so that no element is branched on: numpy's `where` costs ten times a maximum."""

from __future__ import annotations

import math

import numpy as np

from exec.arrays import Array
from exec.kernels.math.exponential import erf
from exec.kernels.math.rounding import highest
from exec.kernels.registry import kernel
from exec.kernels.tiled import tiled
from exec.kernels.widen import widened


@kernel("Relu")
@widened
def relu(x: Array, /) -> Array:
    """max(x, 0)."""
    return np.asarray(np.clip(x, 0, highest(x.dtype)))


@kernel("LeakyRelu")
@tiled
@widened
def leaky_relu(x: Array, /, *, alpha: float = 0.01) -> Array:
    """x where x >= 0, else alpha · x."""
    if 0.0 <= alpha <= 1.0:
        return np.asarray(np.maximum(x, alpha * x))
    return np.asarray(np.maximum(x, 0) + alpha * np.minimum(x, 0))


@kernel("PRelu")
@widened
def prelu_1(x: Array, slope: Array, /) -> Array:
    """x where x >= 0, else slope · x; before opset 7 a slope of more than one value lies along axis 1."""
    return prelu(x, slope.reshape(slope.shape + (1,) * (x.ndim - 2)) if slope.ndim == 1 and slope.size > 1 else slope)


@kernel("PRelu", since=7)
@widened
def prelu(x: Array, slope: Array, /) -> Array:
    """x where x >= 0, else slope · x; the slope is broadcast to x."""
    return np.asarray(np.maximum(x, 0) + slope * np.minimum(x, 0))


@kernel("Elu")
@tiled
@widened
def elu(x: Array, /, *, alpha: float = 1.0) -> Array:
    """x where x >= 0, else alpha · (exp(x) - 1)."""
    return np.asarray(np.maximum(x, 0) + alpha * np.expm1(np.minimum(x, 0)))


@kernel("Celu", since=12)
@tiled
@widened
def celu(x: Array, /, *, alpha: float = 1.0) -> Array:
    """max(x, 0) + min(0, alpha · (exp(x / alpha) - 1))."""
    return np.asarray(np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha)))


@kernel("Selu")
@tiled
@widened
def selu_1(x: Array, /, *, alpha: float = 1.6732, gamma: float = 1.0507) -> Array:
    """Selu with the rounded constants it had before opset 6."""
    return selu(x, alpha=alpha, gamma=gamma)


@kernel("Selu", since=6)
@tiled
@widened
def selu(x: Array, /, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> Array:
    """gamma · x where x > 0, else gamma · alpha · (exp(x) - 1)."""
    return np.asarray(gamma * (np.maximum(x, 0) + alpha * np.expm1(np.minimum(x, 0))))


@kernel("Sigmoid")
@tiled
@widened
def sigmoid(x: Array, /) -> Array:
    """1 / (1 + exp(-x)).

    Not by tanh, which is faster and as good in absolute terms: its tail is wrong by percents below -15 and 0 below
    -17, where detectors compare probabilities.
    """
    y = np.negative(x, out=np.empty_like(x))
    np.exp(y, out=y)
    y += 1
    return np.reciprocal(y, out=y)


@kernel("HardSigmoid")
@tiled
@widened
def hard_sigmoid(x: Array, /, *, alpha: float = 0.2, beta: float = 0.5) -> Array:
    """alpha · x + beta, kept in [0, 1]."""
    return np.asarray(np.clip(alpha * x + beta, 0, 1))


@kernel("HardSwish", since=14)
@tiled
@widened
def hard_swish(x: Array, /) -> Array:
    """x · max(0, min(1, x / 6 + 1/2))."""
    return np.asarray(x * np.clip(x * (1 / 6) + 0.5, 0, 1))


@kernel("ThresholdedRelu", since=10)
@tiled
@widened
def thresholded_relu(x: Array, /, *, alpha: float = 1.0) -> Array:
    """x where x > alpha, else 0."""
    return np.where(x > alpha, x, x.dtype.type(0))


@kernel("Softplus")
@tiled
@widened
def softplus(x: Array, /) -> Array:
    """log(1 + exp(x)), without overflow."""
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


@kernel("Softsign")
@tiled
@widened
def softsign(x: Array, /) -> Array:
    """x / (1 + |x|)."""
    return np.asarray(x / (1 + np.abs(x)))


@kernel("Gelu", since=20)
@tiled
@widened
def gelu(x: Array, /, *, approximate: str = "none") -> Array:
    """x · Φ(x), Φ the normal distribution: by erf, or with approximate="tanh" by tanh(√(2/π) · (x + 0.044715 x³))."""
    if approximate == "tanh":
        y = np.square(x, out=np.empty_like(x))
        y *= 0.044715 * math.sqrt(2 / math.pi)
        y += math.sqrt(2 / math.pi)
        y *= x
        np.tanh(y, out=y)
    else:
        y = erf(np.asarray(x * math.sqrt(0.5)))
    y += 1
    y *= x
    y *= 0.5
    return y


@kernel("Swish", since=24)
@tiled
@widened
def swish(x: Array, /, *, alpha: float = 1.0) -> Array:
    """x · sigmoid(alpha · x)."""
    y = sigmoid(np.asarray(alpha * x))
    y *= x
    return y


@kernel("SwiGLU", since=28)
@widened
def swiglu(gate: Array, value: Array, /, *, alpha: float = 1.0) -> Array:
    """gate · sigmoid(alpha · gate) · value."""
    y = swish(gate, alpha=alpha)
    y *= value
    return y


@kernel("Mish", since=18)
@tiled
@widened
def mish(x: Array, /) -> Array:
    """x · tanh(log(1 + exp(x)))."""
    return np.asarray(x * np.tanh(softplus(x)))
