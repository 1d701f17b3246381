"""Reductions and normalisations over trailing axes: rows of a matrix, summed by BLAS."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.lowering.buffers import Slot, reshaped
from exec.lowering.builder import Builder, Step
from exec.lowering.registry import lowering
from exec.lowering.units import Unit

F32 = np.dtype(np.float32)

SHORT_ROW = 32
"""Elements up to which a narrow softmax is rounded after every step, as its kernel does it: there the steps can be seen."""


def reduced_axes(b: Builder, unit: Unit, rank: int) -> tuple[int, ...] | None:
    """The axes a Reduce op goes over, sorted; None where they are not known."""
    axes = unit.attributes.get("axes")
    if axes is None and unit.input(1) >= 0:
        given = b.units.constant(unit.inputs[1])
        if given is None:
            return None
        axes = given.tolist()
    if not axes:
        return () if unit.attributes.get("noop_with_empty_axes") else tuple(range(rank))
    return tuple(sorted(axis % rank for axis in axes))


def trailing(axes: tuple[int, ...], rank: int) -> bool:
    """Whether the axes are the last ones."""
    return axes == tuple(range(rank - len(axes), rank))


@lowering("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin")
def reduce(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    axes = reduced_axes(b, unit, x.ndim)
    if x.dtype != F32 or not axes or x.size == 0 or x.constant is not None:
        return False
    count = math.prod(x.shape[axis] for axis in axes)
    if count == 1:  # nothing to reduce: at most an axis goes
        b.define(unit.outputs[0], b.shaped(x, b.units.specs[unit.outputs[0]].shape))
        return True
    out = b.new(unit.outputs[0])
    kept = tuple(1 if axis in axes else n for axis, n in enumerate(x.shape))
    target = reshaped(out.array, kept)
    if target is None:
        return False
    if unit.op in ("ReduceMean", "ReduceSum") and trailing(axes, x.ndim) and count >= 8:
        row_sums(b, out.view(out.array.reshape(-1)), x, count, 1 / count if unit.op == "ReduceMean" else 1.0)
        return True
    ufunc = {"ReduceMax": np.maximum, "ReduceMin": np.minimum}.get(unit.op, np.add)
    scale = np.float32(1 / count) if unit.op == "ReduceMean" else None
    b.emit(partial(_reduced, ufunc, axes, scale), out.view(target), x)
    return True


def row_sums(b: Builder, out: Slot, x: Slot, count: int, factor: float) -> None:
    """out (rows) = factor · Σ of each row of `count` elements: a matrix-vector product."""
    rows = b.shaped(x, (-1, count))
    if b.jit and rows.contiguous and out.contiguous:
        from exec.lowering.jit import rows as jit

        jit.sum_rows(b, out, rows, factor)
        return
    b.emit(_product, out, rows, b.constant(np.full(count, factor, np.float32)))


def _product(out: Array, rows: Array, ones: Array) -> Step:
    return partial(np.matmul, rows, ones, out)


def _reduced(ufunc: Any, axes: tuple[int, ...], scale: np.float32 | None, out: Array, x: Array) -> list[Step]:
    steps: list[Step] = [partial(ufunc.reduce, x, axis=axes, out=out, keepdims=True)]
    if scale is not None:
        steps.append(partial(np.multiply, out, scale, out))
    return steps


BEFORE: dict[str, Any] = {
    "ReduceL1": np.absolute,
    "ReduceL2": np.square,
    "ReduceSumSquare": np.square,
    "ReduceLogSum": None,
}
"""What happens to every element before it is summed."""

AFTER: dict[str, Any] = {"ReduceL2": np.sqrt, "ReduceLogSum": np.log}
"""What happens to the sum."""


@lowering(*BEFORE)
def reduce_of(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    axes = reduced_axes(b, unit, x.ndim)
    if x.dtype != F32 or not axes or x.size == 0 or x.constant is not None:
        return False
    out = b.new(unit.outputs[0])
    target = reshaped(out.array, tuple(1 if axis in axes else n for axis, n in enumerate(x.shape)))
    if target is None:
        return False
    before, after = BEFORE[unit.op], AFTER.get(unit.op)
    if before is np.square and trailing(axes, x.ndim):
        rows = b.shaped(x, (-1, math.prod(x.shape[axis] for axis in axes)))
        b.emit(partial(_squares, after), out.view(out.array.reshape(-1)), rows)
        return True
    room = [] if before is None else [b.scratch(x.shape)]
    b.emit(partial(_reduced_of, before, after, axes), out.view(target), x, *room)
    return True


def _squares(after: Any, out: Array, rows: Array) -> list[Step]:
    steps: list[Step] = [partial(np.vecdot, rows, rows, out)]
    return steps if after is None else [*steps, partial(after, out, out)]


def _reduced_of(before: Any, after: Any, axes: tuple[int, ...], out: Array, x: Array, *room: Array) -> list[Step]:
    source, steps = x, list[Step]()
    for source in room:
        steps.append(partial(before, x, source))
    steps.append(partial(np.add.reduce, source, axis=axes, out=out, keepdims=True))
    return steps if after is None else [*steps, partial(after, out, out)]


@lowering("GlobalMaxPool")
def global_max_pool(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    if x.dtype != F32 or x.size == 0 or x.ndim < 3:
        return False
    axes = tuple(range(2, x.ndim))
    b.emit(partial(_reduced, np.maximum, axes, None), b.new(unit.outputs[0]), x)
    return True


@lowering("GlobalAveragePool")
def global_average_pool(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    if x.dtype != F32 or x.size == 0:
        return False
    out = b.new(unit.outputs[0])
    count = math.prod(x.shape[2:])
    row_sums(b, out.view(out.array.reshape(-1)), x, count, 1 / count)
    return True


@lowering("Softmax", "LogSoftmax")
def softmax(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    if x.dtype != F32 or x.size == 0:
        return False
    axis = int(unit.attributes.get("axis", 1 if unit.opset < 13 else -1))
    axis = axis % x.ndim
    if unit.outputs[0] in b.units.narrow and x.shape[axis] <= SHORT_ROW:
        return False
    shape = x.shape
    if unit.opset < 13:
        shape, axis = (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])), 1
    source = b.shaped(x, shape)
    out = b.new_or_reused(unit.outputs[0], source) if shape == x.shape else b.new(unit.outputs[0])
    target = reshaped(out.array, shape)
    assert target is not None
    peak = tuple(1 if k == axis else n for k, n in enumerate(shape))
    if unit.op == "LogSoftmax":
        b.emit(partial(_log_softmax, axis), out.view(target), source, b.scratch(peak), b.scratch(shape))
        return True
    if b.jit and axis == len(shape) - 1 and source.contiguous and out.contiguous:
        from exec.lowering.jit import rows as jit

        jit.softmax(b, out.view(target), source)
        return True
    b.emit(partial(_softmax, axis), out.view(target), source, b.scratch(peak))
    return True


def _log_softmax(axis: int, out: Array, x: Array, peak: Array, powers: Array) -> list[Step]:
    return [
        partial(np.maximum.reduce, x, axis=axis, out=peak, keepdims=True),
        partial(np.subtract, x, peak, out),
        partial(np.exp, out, powers),
        partial(np.add.reduce, powers, axis=axis, out=peak, keepdims=True),
        partial(np.log, peak, peak),
        partial(np.subtract, out, peak, out),
    ]


def _softmax(axis: int, out: Array, x: Array, peak: Array) -> list[Step]:
    steps: list[Step] = [
        partial(np.maximum.reduce, x, axis=axis, out=peak, keepdims=True),
        partial(np.subtract, x, peak, out),
        partial(np.exp, out, out),
    ]
    if axis == out.ndim - 1 and out.flags.c_contiguous:
        rows = out.reshape(-1, out.shape[-1])
        steps.append(partial(np.matmul, rows, np.ones(rows.shape[1], np.float32), peak.reshape(-1)))
    else:
        steps.append(partial(np.add.reduce, out, axis=axis, out=peak, keepdims=True))
    return [*steps, partial(np.divide, out, peak, out)]


@lowering("LayerNormalization")
def layer_normalization(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    if x.dtype != F32 or any(n >= 0 for n in unit.outputs[1:]) or x.size == 0:
        return False
    axis = int(unit.attributes.get("axis", -1)) % x.ndim
    count = math.prod(x.shape[axis:])
    weights = [b.input(n) for n in unit.inputs[1:3] if n >= 0]
    if any(w.dtype != F32 or w.size not in (1, count) for w in weights) or count < 4:
        return False
    rows = b.shaped(x, (-1, count))
    out = b.new_or_reused(unit.outputs[0], rows) if rows.shape == x.shape else b.new_or_reused(unit.outputs[0], x)
    flat = reshaped(out.array, rows.shape)
    if flat is None:
        return False
    epsilon = float(unit.attributes.get("epsilon", 1e-5))
    scale = b.shaped(weights[0], (-1,))
    bias = [b.shaped(weights[1], (-1,))] if len(weights) > 1 else []
    if _compiled_rows(b, out.view(flat), rows, [scale, *bias], epsilon, centred=True):
        return True
    statistics = b.scratch((2, rows.shape[0]))
    b.emit(partial(_normalized, epsilon, False), out.view(flat), rows, statistics, scale, *bias)
    return True


@lowering("RMSNormalization")
def rms_normalization(b: Builder, unit: Unit) -> bool:
    x, scale = b.input(unit.inputs[0]), b.input(unit.inputs[1])
    axis = int(unit.attributes.get("axis", -1)) % x.ndim
    count = math.prod(x.shape[axis:])
    if x.dtype != F32 or x.size == 0 or scale.size not in (1, count) or scale.dtype != F32:
        return False
    rows = b.shaped(x, (-1, count))
    out = b.new_or_reused(unit.outputs[0], x)
    flat = reshaped(out.array, rows.shape)
    if flat is None:
        return False
    epsilon = float(unit.attributes.get("epsilon", 1e-5))
    if _compiled_rows(b, out.view(flat), rows, [b.shaped(scale, (-1,))], epsilon, centred=False):
        return True
    statistics = b.scratch((2, rows.shape[0]))
    b.emit(partial(_normalized, epsilon, True), out.view(flat), rows, statistics, b.shaped(scale, (-1,)))
    return True


def _compiled_rows(b: Builder, out: Slot, rows: Slot, weights: list[Slot], epsilon: float, *, centred: bool) -> bool:
    """The compiled kernel, where rows and weights lie as it wants them."""
    count = rows.shape[1]
    if not b.jit or not rows.contiguous or not out.contiguous:
        return False
    if any(w.size != count or not w.contiguous for w in weights):
        return False
    from exec.lowering.jit import rows as jit

    jit.normalize(b, out, rows, weights[0], weights[1] if len(weights) > 1 else None, epsilon, centred=centred)
    return True


def _normalized(
    epsilon: float, keep_mean: bool, out: Array, x: Array, statistics: Array, scale: Array, bias: Array | None = None
) -> list[Step]:
    """(x − mean)/√(var + ε)·scale + bias per row, in two passes over the data: one cancels where |mean| is large."""
    count = np.float32(x.shape[1])
    mean, var = statistics
    column = var[:, None]
    steps: list[Step] = []
    centred = x
    if not keep_mean:
        weights = np.full(x.shape[1], 1 / x.shape[1], np.float32)
        steps += [partial(np.matmul, x, weights, mean), partial(np.subtract, x, mean[:, None], out)]
        centred = out
    steps += [
        partial(np.vecdot, centred, centred, var),
        partial(np.divide, var, count, var),
        partial(np.add, var, np.float32(epsilon), var),
        partial(np.sqrt, var, var),
        partial(np.divide, centred, column, out),
        partial(np.multiply, out, scale, out),
    ]
    if bias is not None:
        steps.append(partial(np.add, out, bias, out))
    return steps
