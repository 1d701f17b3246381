"""Products of bytes that give bytes: the exact sum, one factor per output, one rounding."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from exec.arrays import Array
from exec.kernels.nn.window import Window, window
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.convolution.depthwise import depthwise
from exec.lowering.convolution.gathered import gathered
from exec.lowering.convolution.problem import Convolution
from exec.lowering.ops.products import product
from exec.lowering.ops.quantized import BYTE, centred_input, centred_weights, exact_cuts
from exec.lowering.registry import lowering
from exec.lowering.units import Unit


@lowering("QLinearConv")
def qlinear_conv(b: Builder, unit: Unit) -> bool:
    x, constants = b.input(unit.inputs[0]), _constants(b, unit, range(1, 8))
    if constants is None or x.dtype not in BYTE or b.units.specs[unit.outputs[0]].size == 0:
        return False
    x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = constants
    bias = b.units.constant(unit.inputs[8]) if unit.input(8) >= 0 else None
    if (unit.input(8) >= 0 and bias is None) or w.dtype not in BYTE or max(x_zero.size, y_zero.size, y_scale.size) > 1:
        return False
    a = unit.attributes
    g = window(
        x.shape[2:], w.shape[2:], a.get("strides"), a.get("pads"), a.get("dilations"), a.get("auto_pad", "NOTSET")
    )
    if min(*g.before, *g.after, 0) < 0:
        return False
    factor = _factor(x_scale, w_scale, y_scale, w.shape[0])
    shift = None if bias is None else bias.astype(np.float32) * factor
    total = b.scratch(b.units.specs[unit.outputs[0]].shape)
    zeros = w_zero if np.any(w_zero) else None
    if not _convolved(b, total, x, x_zero, w, zeros, g, int(a.get("group", 1)), factor, shift):
        return False
    _rounded(b, b.new(unit.outputs[0]), total, y_zero)
    return True


def _constants(b: Builder, unit: Unit, positions: range) -> list[Array] | None:
    found = [b.units.constant(unit.inputs[k]) for k in positions]
    return None if any(value is None for value in found) else [value for value in found if value is not None]


def _factor(x_scale: Array, w_scale: Array, y_scale: Array, outputs: int) -> Array:
    factor = (x_scale * w_scale / y_scale).astype(np.float32).reshape(-1)
    return np.ascontiguousarray(np.broadcast_to(factor, (outputs,)))


def _convolved(
    b: Builder, total: Slot, x: Slot, x_zero: Array, w: Array, zeros: Array | None, g: Window, group: int, factor: Array,
    shift: Array | None,
) -> bool:  # fmt: skip
    """total = the sum of each output times its factor, and its shift; False where there is no exact way."""
    zero = b.constant(np.ascontiguousarray(x_zero))
    if b.jit:
        from exec.lowering.jit.integers import convolve
        from exec.lowering.jit.tail import Tail

        tail = Tail(None if shift is None else b.constant(shift), None, 1, 0, 0.0, 0.0)
        if convolve(b, total, x, zero, w, zeros, g, group, factor, tail):
            return True
    centred = centred_weights(b, w, zeros, 0)
    cuts = exact_cuts(np.abs(centred).reshape(*w.shape[:2], -1).sum(axis=2).T)
    if group > 1 and len(cuts) > 1:
        return False
    carrier = centred_input(b, x, zero)
    for cut in cuts:  # of the channels: each part's sums are exact, so that only their sum is rounded, as a float is
        weights = centred if len(cuts) == 1 else _channels(b, centred, cut)
        part = b.scratch(total.shape) if cut.start else total
        source = carrier if group > 1 else carrier.view(carrier.array[:, cut])
        c = Convolution(source, part, weights, weights, None, g, group)
        (depthwise if group > 1 and w.shape[1] == 1 else gathered)(b, c)
        if cut.start:
            b.emit(_sum, total, part)
    column = (-1, *[1] * g.rank)
    b.emit(partial(_scaled, factor.reshape(column), None if shift is None else shift.reshape(column)), total)
    return True


def _channels(b: Builder, weights: Array, cut: slice) -> Array:
    made: Array = b.packs.get(weights, ("channels", cut.start), lambda: np.ascontiguousarray(weights[:, cut]))
    return made


def _sum(total: Array, part: Array) -> Step:
    return partial(np.add, total, part, total)


def _scaled(factor: Array, shift: Array | None, total: Array) -> list[Step]:
    steps: list[Step] = [partial(np.multiply, total, factor, total)]
    return steps if shift is None else [*steps, partial(np.add, total, shift, total)]


def _rounded(b: Builder, out: Slot, total: Slot, zero: Array) -> None:
    """To bytes: half to even, moved by the zero point, kept in the type's range."""
    if b.jit and out.contiguous:
        from exec.lowering.jit.integers import quantize

        quantize(b, out, total, b.constant(np.ones((), np.float32)), b.constant(np.ascontiguousarray(zero)))
        return
    b.emit(partial(_to_bytes, np.float32(zero.reshape(()))), out, total)


def _to_bytes(zero: np.float32, out: Array, total: Array) -> list[Step]:
    info = np.iinfo(out.dtype)
    return [
        partial(np.rint, total, total), partial(np.add, total, zero, total),
        partial(np.fmax, total, np.float32(info.min), total), partial(np.fmin, total, np.float32(info.max), total),
        partial(np.copyto, out, total, casting="unsafe"),
    ]  # fmt: skip


@lowering("QLinearMatMul")
def qlinear_matmul(b: Builder, unit: Unit) -> bool:
    x, constants = b.input(unit.inputs[0]), _constants(b, unit, range(1, 8))
    if constants is None or x.dtype not in BYTE or x.ndim < 2 or x.size == 0:
        return False
    x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = constants
    if w.dtype not in BYTE or w.ndim != 2 or w.size == 0 or y_zero.dtype not in BYTE:
        return False
    if max(x_scale.size, x_zero.size, y_scale.size, y_zero.size) > 1 or x_scale.dtype != np.float32:
        return False
    rows, columns = math.prod(x.shape[:-1]), w.shape[1]
    factor = _factor(x_scale, w_scale, y_scale, columns)
    zeros = w_zero if np.any(w_zero) else None
    out, total, zero = b.new(unit.outputs[0]), b.scratch((rows, columns)), b.constant(np.ascontiguousarray(x_zero))
    flat = b.shaped(x, (rows, x.shape[-1]))
    if not out.contiguous:
        return False
    _multiplied(b, total, flat, zero, w, zeros, factor)
    _rounded(b, out.view(out.array.reshape(rows, columns)), total, y_zero)
    return True


def _multiplied(
    b: Builder, total: Slot, x: Slot, zero: Slot, w: Array, zeros: Array | None, factor: Array
) -> None:  # fmt: skip
    """total = the sum of each output times its factor."""
    if b.jit:
        from exec.lowering.jit.integers import multiply

        if multiply(b, total, x, zero, w, zeros, factor):
            return
    centred, carrier = centred_weights(b, w, zeros, 1), centred_input(b, x, zero)
    for cut in exact_cuts(centred):
        part = b.packs.get(centred, ("rows", cut.start, cut.stop), partial(centred.__getitem__, cut))
        target = b.scratch(total.shape) if cut.start else total
        product(b, target, carrier.view(carrier.array[:, cut]), part, transposed=False)
        if cut.start:
            b.emit(_sum, total, target)
    b.emit(partial(_scaled, factor, None), total)
