"""Normalisations whose scale and bias belong to channels: instance, group, mean and variance."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from exec.arrays import Array
from exec.lowering.buffers import Slot, reshaped
from exec.lowering.builder import Builder, Step
from exec.lowering.registry import lowering
from exec.lowering.units import Unit

F32 = np.dtype(np.float32)


@lowering("InstanceNormalization")
def instance_normalization(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    return x.ndim > 2 and _normalize(b, unit, x, groups=x.shape[1], inner=1)


@lowering("GroupNormalization")
def group_normalization(b: Builder, unit: Unit) -> bool:
    x, groups = b.input(unit.inputs[0]), int(unit.attributes["num_groups"])
    if x.ndim < 2 or groups < 1 or x.shape[1] % groups:
        return False
    return _normalize(b, unit, x, groups, 1 if unit.opset < 21 else x.shape[1] // groups)


def _normalize(b: Builder, unit: Unit, x: Slot, groups: int, inner: int) -> bool:
    """Each of (sample, group) by its own mean and variance, then scaled: `inner` scales a group, over equal parts of it."""
    scale, bias = b.input(unit.inputs[1]), b.input(unit.inputs[2])
    if x.size == 0 or any(slot.dtype != F32 for slot in (x, scale, bias)):
        return False
    if scale.size != groups * inner or bias.size != groups * inner:
        return False
    rows = x.shape[0] * groups
    parts = b.shaped(x, (x.shape[0], groups, inner, x.size // (rows * inner)))
    out = b.new_or_reused(unit.outputs[0], x)
    target = reshaped(out.array, parts.shape)
    if target is None:
        return False
    epsilon = float(unit.attributes.get("epsilon", 1e-5))
    scale, bias = (b.copied(b.shaped(slot, (groups, inner, 1))) for slot in (scale, bias))
    if b.jit and parts.contiguous and out.contiguous:
        from exec.lowering.jit.rows import normalize_channels

        normalize_channels(b, out.view(target), parts, scale, bias, epsilon)
        return True
    statistics = b.scratch((2, rows))
    factors = b.scratch((x.shape[0], groups, inner, 1))
    b.emit(partial(_normalized, epsilon), out.view(target), parts, statistics, factors, scale, bias)
    return True


def _normalized(
    epsilon: float, out: Array, x: Array, statistics: Array, factors: Array, scale: Array, bias: Array
) -> list[Step]:
    """In two passes over the data, since one cancels where |mean| is large; scale and deviation become one factor."""
    mean, deviation = statistics
    rows, centred = x.reshape(mean.size, -1), out.reshape(mean.size, -1)
    count = rows.shape[1]
    return [
        partial(np.matmul, rows, np.full(count, 1 / count, np.float32), mean),
        partial(np.subtract, rows, mean[:, None], centred),
        partial(np.vecdot, centred, centred, deviation),
        partial(np.divide, deviation, np.float32(count), deviation),
        partial(np.add, deviation, np.float32(epsilon), deviation),
        partial(np.sqrt, deviation, deviation),
        partial(np.divide, scale, deviation.reshape(*x.shape[:2], 1, 1), factors),
        partial(np.multiply, out, factors, out),
        partial(np.add, out, bias, out),
    ]


@lowering("MeanVarianceNormalization")
def mean_variance_normalization(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    axes = tuple(sorted(int(axis) % x.ndim for axis in unit.attributes.get("axes", (0, 2, 3))))
    if x.dtype != F32 or x.size == 0 or unit.opset < 9 or len(set(axes)) != len(axes):
        return False
    out = b.new(unit.outputs[0])
    kept = tuple(1 if axis in axes else n for axis, n in enumerate(x.shape))
    b.emit(partial(_standardized, axes), out, x, b.scratch(kept), b.scratch(x.shape))
    return True


def _standardized(axes: tuple[int, ...], out: Array, x: Array, statistic: Array, squares: Array) -> list[Step]:
    factor = np.float32(1 / math.prod(x.shape[axis] for axis in axes))
    return [
        partial(np.add.reduce, x, axis=axes, out=statistic, keepdims=True),
        partial(np.multiply, statistic, factor, statistic),
        partial(np.subtract, x, statistic, out),
        partial(np.square, out, squares),
        partial(np.add.reduce, squares, axis=axes, out=statistic, keepdims=True),
        partial(np.multiply, statistic, factor, statistic),
        partial(np.sqrt, statistic, statistic),
        partial(np.add, statistic, np.float32(1e-9), statistic),
        partial(np.divide, out, statistic, out),
    ]
