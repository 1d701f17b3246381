"""Normalisations: batch, layer, instance, group, root-mean-square, Lp, local response, mean-variance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.registry import kernel
from exec.kernels.widen import wide, widened


def _per_channel(v: Array, x: Array) -> Array:
    """A vector over the channels, shaped to broadcast against `x` (N, C, …)."""
    return v.reshape(-1, *[1] * (x.ndim - 2)) if x.ndim > 1 else v


def _normalized(x: Array, scale: Array, bias: Array, mean: Array, var: Array, epsilon: float) -> Array:
    """(x − mean)·scale/√(var + ε) + bias as one multiply and one add per element; statistics may be wider than `x`."""
    factor = scale / np.sqrt(var + var.dtype.type(epsilon))
    offset = bias - mean * factor
    y = x * _per_channel(factor, x)
    y += _per_channel(offset, x)
    return y


@kernel("BatchNormalization")
@widened
def batch_normalization_1(
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array,
    var: Array,
    /,
    *,
    consumed_inputs: Sequence[int] | None = None,
    epsilon: float = 1e-5,
    is_test: int = 0,
    momentum: float = 0.9,
    spatial: int = 1,
    n_outputs: int = 1,
) -> Array | tuple[Array, ...]:
    """Normalise with given statistics; with more than one output wanted, with those of the batch.

    Shapes  x (N, C, …); the others (C), or with spatial=0 (C, …).
    Spec    ONNX BatchNormalization-1, -6, -7, -9: "training" is told by the number of outputs. Exporters leave is_test
            at 0 in inference models, so it counts only together with further outputs.
    """
    if n_outputs > 1 and not is_test:
        y, seen_mean, seen_var = _trained(x, scale, bias, mean, var, epsilon, momentum)
        outputs = (y, seen_mean, seen_var, mean, var)
        return outputs[:n_outputs]
    if not spatial:
        y = (x - mean) * (scale / np.sqrt(var + var.dtype.type(epsilon))) + bias
    else:
        y = _normalized(x, scale, bias, mean, var, epsilon)
    return (y, mean, var, mean, var)[:n_outputs] if n_outputs > 1 else y


@kernel("BatchNormalization", since=14)
def batch_normalization(
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array,
    var: Array,
    /,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
    n_outputs: int = 1,
) -> Array | tuple[Array, ...]:
    """y = (x − mean) / √(var + ε) · scale + bias per channel.

    Shapes  x (N, C, …); the others (C).
    Types   scale and bias may be of another type than x, mean and var of a third; y is of x's type.
    Spec    ONNX BatchNormalization-14, -15. training_mode=1: statistics of the batch, running ones updated by momentum.
    """
    wx, ws, wb, wm, wv = (wide(v) for v in (x, scale, bias, mean, var))
    if not training_mode:
        y = _normalized(wx, ws, wb, wm, wv, epsilon).astype(x.dtype, copy=False)
        return (y, mean, var)[:n_outputs] if n_outputs > 1 else y
    y, new_mean, new_var = _trained(wx, ws, wb, wm, wv, epsilon, momentum)
    outputs = (y.astype(x.dtype, copy=False), new_mean.astype(mean.dtype), new_var.astype(var.dtype))
    return outputs[:n_outputs] if n_outputs > 1 else outputs[0]


def _trained(
    x: Array, scale: Array, bias: Array, mean: Array, var: Array, epsilon: float, momentum: float
) -> tuple[Array, Array, Array]:
    axes = tuple(a for a in range(x.ndim) if a != 1)
    seen_mean, seen_var = x.mean(axis=axes, dtype=x.dtype), x.var(axis=axes, dtype=x.dtype)
    y = _normalized(x, scale, bias, seen_mean, seen_var, epsilon)
    keep = x.dtype.type(momentum)
    return y, mean * keep + seen_mean * (1 - keep), var * keep + seen_var * (1 - keep)


@kernel("InstanceNormalization")
@widened
def instance_normalization(
    x: Array,
    scale: Array,
    bias: Array,
    /,
    *,
    consumed_inputs: Sequence[int] | None = None,
    epsilon: float = 1e-5,
) -> Array:
    """Normalise each channel of each sample over its spatial axes; scale, bias (C).

    Spec    ONNX InstanceNormalization-1, -6, -22.
    """
    axes = tuple(range(2, x.ndim))
    return standardized(x, axes, epsilon) * _per_channel(scale, x) + _per_channel(bias, x)


def standardized(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    """(x − mean) / √(var + ε) over `axes`; in two passes, since one pass cancels where |mean| is large."""
    centred, _, inverse = _moments(x, axes, epsilon)
    centred *= inverse
    return centred


def _moments(x: Array, axes: tuple[int, ...], epsilon: float) -> tuple[Array, Array, Array]:
    """x − mean, the mean, and 1/√(var + ε), with rank kept."""
    mean = x.mean(axis=axes, keepdims=True, dtype=x.dtype)
    centred = x - mean
    var = np.square(centred).mean(axis=axes, keepdims=True, dtype=x.dtype)
    return centred, mean, 1 / np.sqrt(var + x.dtype.type(epsilon))


def _grouped(x: Array, num_groups: int, epsilon: float) -> Array:
    if num_groups < 1 or x.shape[1] % num_groups:
        raise ExecutionError(f"{x.shape[1]} channels are not divisible by {num_groups} groups")
    groups = x.reshape(x.shape[0], num_groups, -1)
    return standardized(groups, (2,), epsilon)


@kernel("GroupNormalization", since=18)
@widened
def group_normalization_18(x: Array, scale: Array, bias: Array, /, *, num_groups: int, epsilon: float = 1e-5) -> Array:
    """Normalise over groups of channels; scale and bias per group. Spec: GroupNormalization-18."""
    y = _grouped(x, num_groups, epsilon)
    return (y * scale.reshape(1, -1, 1) + bias.reshape(1, -1, 1)).reshape(x.shape)


@kernel("GroupNormalization", since=21)
def group_normalization(
    x: Array, scale: Array, bias: Array, /, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1
) -> Array:
    """Normalise over groups of channels; scale and bias (C). Spec: GroupNormalization-21; statistics in float32."""
    stashed = _stashed(x, stash_type)
    y = _grouped(stashed, num_groups, epsilon).reshape(x.shape)
    y = _stash_out(y, x) * _per_channel(wide(scale), x) + _per_channel(wide(bias), x)
    return y.astype(x.dtype, copy=False)


def _stashed(x: Array, stash_type: int) -> Array:
    """`x` in the type the statistics are computed in: float32 (1), or its own."""
    return x.astype(np.float32) if stash_type == 1 and x.dtype != np.float32 else wide(x)


def _stash_out(y: Array, x: Array) -> Array:
    """Back to the type of `x`, unless that is too narrow to go on computing in."""
    return y.astype(x.dtype, copy=False) if x.dtype.itemsize >= 4 else y


@kernel("LayerNormalization", since=17)
def layer_normalization(
    x: Array,
    scale: Array,
    bias: Array | None = None,
    /,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
    n_outputs: int = 1,
) -> Array | tuple[Array, ...]:
    """Normalise over the axes from `axis` to the last.

        y = (x - mean) / sqrt(var + epsilon) * scale + bias

    Shapes  x (d0, …, dn); scale, bias broadcast to (d_axis, …, dn); mean and 1/std keep rank, with ones.
    Types   float16, bfloat16, float32, float64; statistics in float32 (stash_type=1).
    Spec    ONNX LayerNormalization-17. Two-pass variance: one pass cancels for |mean| >> std.
    """
    axes = tuple(range(axis % x.ndim, x.ndim))
    centred, mean, inverse = _moments(_stashed(x, stash_type), axes, epsilon)
    centred *= inverse
    y = _stash_out(centred, x) * wide(scale)
    if bias is not None:
        y += wide(bias)
    outputs = (y.astype(x.dtype, copy=False), mean, inverse)
    return outputs[:n_outputs] if n_outputs > 1 else outputs[0]


@kernel("RMSNormalization", since=23)
def rms_normalization(
    x: Array, scale: Array, /, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Array:
    """y = x / √(mean(x²) + ε) · scale over the axes from `axis` to the last. Spec: RMSNormalization-23."""
    axes = tuple(range(axis % x.ndim, x.ndim))
    stashed = _stashed(x, stash_type)
    mean = np.square(stashed).mean(axis=axes, keepdims=True, dtype=stashed.dtype)
    y = stashed / np.sqrt(mean + stashed.dtype.type(epsilon))
    return (_stash_out(y, x) * wide(scale)).astype(x.dtype, copy=False)


@kernel("LpNormalization")
@widened
def lp_normalization(x: Array, /, *, axis: int = -1, p: int = 2) -> Array:
    """x / ‖x‖_p along `axis`, 0 where the norm is 0. Spec: LpNormalization-1, -22."""
    if p == 1:
        norm = np.abs(x).sum(axis=axis, keepdims=True, dtype=x.dtype)
    else:
        norm = np.sqrt(np.square(x).sum(axis=axis, keepdims=True, dtype=x.dtype))
    y = np.zeros_like(x)
    np.divide(x, norm, out=y, where=norm != 0)
    return y


@kernel("LRN")
@widened
def lrn(x: Array, /, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Array:
    """x / (bias + alpha/size · Σ x²)^beta, the sum over `size` neighbouring channels. Spec: LRN-1, -13."""
    before, after = (size - 1) // 2, size // 2
    squares = np.zeros((x.shape[0], x.shape[1] + size - 1, *x.shape[2:]), x.dtype)
    np.square(x, out=squares[:, before : squares.shape[1] - after])
    total = squares[:, : x.shape[1]].copy()
    for k in range(1, size):
        total += squares[:, k : k + x.shape[1]]
    scale = x.dtype.type(bias) + x.dtype.type(alpha / size) * total
    return np.asarray(x * np.power(scale, x.dtype.type(-beta)))


@kernel("MeanVarianceNormalization", since=9)
@widened
def mean_variance_normalization(x: Array, /, *, axes: Sequence[int] = (0, 2, 3)) -> Array:
    """(x − mean) / (std + 1e-9) over `axes`. Spec: MeanVarianceNormalization-9, -13."""
    over = tuple(axes)
    centred = x - x.mean(axis=over, keepdims=True, dtype=x.dtype)
    std = np.sqrt(np.square(centred).mean(axis=over, keepdims=True, dtype=x.dtype))
    return np.asarray(centred / (std + x.dtype.type(1e-9)))
