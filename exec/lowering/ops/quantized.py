"""Between bytes and floats, and products of bytes: on integers where compiled, carried exactly in floats elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from exec.arrays import Array
from exec.kernels.nn.window import window
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.convolution.depthwise import depthwise
from exec.lowering.convolution.gathered import gathered
from exec.lowering.convolution.problem import Convolution
from exec.lowering.ops.products import product
from exec.lowering.registry import lowering
from exec.lowering.ufuncs import clip_ufunc
from exec.lowering.units import Unit

BYTE = (np.dtype(np.uint8), np.dtype(np.int8))
EXACT = 1 << 24
"""Whole numbers up to here are exact in float32, and so are sums that stay below."""


@lowering("Rounding", domain="owb")
def rounding(b: Builder, unit: Unit) -> bool:
    """QuantizeLinear and DequantizeLinear at once: the nearest representable value."""
    x = b.input(unit.inputs[0])
    a = unit.attributes
    b.emit(partial(_rounded, a["scale"], a["low"], a["high"]), b.new_or_reused(unit.outputs[0], x), x)
    return True


def _rounded(scale: Array, low: float, high: float, out: Array, x: Array) -> Step | list[Step]:
    """NaN becomes the lowest value, as when it is quantized. `clip` leaves it NaN and is twice as fast as `fmax` and `fmin`."""
    lowest, highest = np.float32(low), np.float32(high)
    first: list[Step] = [partial(np.divide, x, scale, out), partial(np.rint, out, out)]
    last: Step = partial(np.multiply, out, scale, out)
    careful: list[Step] = [*first, partial(np.fmax, out, lowest, out), partial(np.fmin, out, highest, out), last]
    if not x.flags.c_contiguous:
        return careful
    quick: list[Step] = [*first, partial(clip_ufunc, out, lowest, highest, out), last]
    flat = x.reshape(-1)

    def round_all() -> None:
        for step in quick if math.isfinite(np.dot(flat, flat)) else careful:  # NaN makes the sum of squares NaN
            step()

    return round_all


@lowering("QuantizeLinear")
def quantize_linear(b: Builder, unit: Unit) -> bool:
    x, scale = b.input(unit.inputs[0]), b.input(unit.inputs[1])
    zero = b.input(unit.inputs[2]) if unit.input(2) >= 0 else None
    spec = b.units.specs[unit.outputs[0]]
    if spec.dtype not in BYTE or x.dtype != np.float32 or scale.dtype != np.float32 or unit.attributes.get("precision"):
        return False
    if unit.attributes.get("block_size") or unit.outputs[0] in b.units.narrow or unit.inputs[0] in b.units.narrow:
        return False
    out = b.new(unit.outputs[0])
    axis = int(unit.attributes.get("axis", 1))
    if b.jit and scale.size == 1 and x.contiguous and out.contiguous:
        from exec.lowering.jit.integers import quantize

        quantize(b, out, x, scale, zero)
        return True
    column = _column(x, scale, axis)
    if column is None:
        return False
    zeros = () if zero is None else (zero.view(zero.array.reshape(column)) if zero.size > 1 else zero,)
    shaped = scale.view(scale.array.reshape(column)) if scale.size > 1 else scale
    b.emit(_quantized, out, x, shaped, b.scratch(x.shape), *zeros)
    return True


def _column(x: Slot, scale: Slot, axis: int) -> tuple[int, ...] | None:
    """The shape in which a vector along `axis` broadcasts; None for other parameters."""
    if scale.size == 1:
        return ()
    axis %= x.ndim
    if scale.ndim != 1 or scale.size != x.shape[axis]:
        return None
    return (-1, *[1] * (x.ndim - 1 - axis))


def _quantized(out: Array, x: Array, scale: Array, room: Array, zero: Array | None = None) -> list[Step]:
    info = np.iinfo(out.dtype)
    steps: list[Step] = [partial(np.divide, x, scale, room), partial(np.rint, room, room)]
    if zero is not None:
        steps.append(partial(np.add, room, zero, room))
    return [
        *steps, partial(np.fmax, room, np.float32(info.min), room), partial(np.fmin, room, np.float32(info.max), room),
        partial(np.copyto, out, room, casting="unsafe"),
    ]  # fmt: skip


@lowering("DequantizeLinear")
def dequantize_linear(b: Builder, unit: Unit) -> bool:
    x, scale = b.input(unit.inputs[0]), b.input(unit.inputs[1])
    zero = b.input(unit.inputs[2]) if unit.input(2) >= 0 else None
    if x.dtype not in BYTE or scale.dtype != np.float32 or unit.attributes.get("block_size") or x.constant is not None:
        return False
    if unit.outputs[0] in b.units.narrow or b.units.specs[unit.outputs[0]].dtype != np.float32:
        return False
    out = b.new(unit.outputs[0])
    if b.jit and scale.size == 1 and x.contiguous and out.contiguous:
        from exec.lowering.jit.integers import dequantize

        dequantize(b, out, x, scale, zero)
        return True
    column = _column(x, scale, int(unit.attributes.get("axis", 1)))
    if column is None:
        return False
    zeros = () if zero is None else (zero.view(zero.array.reshape(column)) if zero.size > 1 else zero,)
    b.emit(_dequantized, out, x, scale.view(scale.array.reshape(column)) if scale.size > 1 else scale, *zeros)
    return True


def _dequantized(out: Array, x: Array, scale: Array, zero: Array | None = None) -> list[Step]:
    steps: list[Step] = [partial(np.copyto, out, x)]
    if zero is not None:
        steps.append(partial(np.subtract, out, zero, out, dtype=np.float32))
    return [*steps, partial(np.multiply, out, scale, out)]


@lowering("DynamicQuantizeLinear")
def dynamic_quantize_linear(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    if x.dtype != np.float32 or x.size == 0 or unit.inputs[0] in b.units.narrow:
        return False
    slots = [b.new(n) if n >= 0 else b.scratch(s, d) for n, s, d in zip(
        [*unit.outputs, -1, -1][:3], (x.shape, (), ()), (np.uint8, np.float32, np.uint8), strict=True
    )]  # fmt: skip
    out, scale, zero = slots
    x = b.copied(x)
    b.emit(_ranged, scale, zero, x)
    if b.jit and out.contiguous:
        from exec.lowering.jit.integers import quantize

        quantize(b, out, x, scale, zero)
    else:
        b.emit(_quantized, out, x, scale, b.scratch(x.shape), zero)
    return True


def _ranged(scale: Array, zero: Array, x: Array) -> Step:
    return partial(_range, x.reshape(-1), scale, zero)


def _range(x: Array, scale: Array, zero: Array) -> None:
    """Scale and zero point that make the range of x, 0 included, fit a byte."""
    low, high = min(x.min(), np.float32(0)), max(x.max(), np.float32(0))
    step = np.float32((high - low) / np.float32(255))
    if not step:
        step = np.float32(1)
    scale[...] = step
    zero[...] = np.uint8(min(max(np.rint(-low / step), 0), 255))


def _signed(weights: Array) -> tuple[Array, int]:
    """Weights as signed bytes, and what their zero points shrink by."""
    if weights.dtype == np.int8:
        return weights, 0
    return (weights ^ np.uint8(128)).view(np.int8), 128


@lowering("ConvInteger")
def conv_integer(b: Builder, unit: Unit) -> bool:
    x, w = b.input(unit.inputs[0]), b.units.constant(unit.inputs[1])
    zero = b.input(unit.inputs[2]) if unit.input(2) >= 0 else None
    zeros = b.units.constant(unit.inputs[3]) if unit.input(3) >= 0 else None
    if w is None or x.dtype not in BYTE or w.dtype not in BYTE or (unit.input(3) >= 0 and zeros is None):
        return False
    if (zero is not None and zero.size != 1) or b.units.specs[unit.outputs[0]].size == 0:
        return False
    a = unit.attributes
    g = window(
        x.shape[2:], w.shape[2:], a.get("strides"), a.get("pads"), a.get("dilations"), a.get("auto_pad", "NOTSET")
    )
    if min(*g.before, *g.after, 0) < 0:
        return False
    group = int(a.get("group", 1))
    if b.jit:
        from exec.lowering.jit.integers import convolve

        if convolve(b, b.new(unit.outputs[0]), x, zero, w, zeros, g, group):
            return True
    centred = centred_weights(b, w, zeros, 0)
    if int(np.abs(centred.reshape(len(centred), -1)).sum(axis=1).max()) * 255 >= EXACT:
        return False
    carrier = centred_input(b, x, zero)
    result = b.scratch(b.units.specs[unit.outputs[0]].shape)
    c = Convolution(carrier, result, centred, centred, None, g, group)
    if group > 1 and w.shape[1] == 1:
        depthwise(b, c)
    else:
        gathered(b, c)
    b.emit(_whole, b.new(unit.outputs[0]), result)
    return True


def centred_weights(b: Builder, w: Array, zeros: Array | None, axis: int) -> Array:
    recipe = ("centred", None if zeros is None else zeros.tobytes())

    def make() -> Array:
        made = w.astype(np.float32)
        if zeros is not None:
            column = [1] * w.ndim
            column[axis] = -1
            made -= zeros.astype(np.float32).reshape(column) if zeros.size > 1 else np.float32(zeros.reshape(()))
        return made

    found: Array = b.packs.get(w, recipe, make)
    return found


def centred_input(b: Builder, x: Slot, zero: Slot | None) -> Slot:
    """x − zero point in float32."""
    carrier = b.scratch(x.shape)
    b.emit(_centre, carrier, x, *(() if zero is None else (zero,)))
    return carrier


def _centre(carrier: Array, x: Array, zero: Array | None = None) -> list[Step]:
    steps: list[Step] = [partial(np.copyto, carrier, x)]
    if zero is not None:
        steps.append(partial(np.subtract, carrier, zero.reshape(()), carrier, dtype=np.float32))
    return steps


def _whole(out: Array, x: Array) -> Step:
    return partial(np.copyto, out, x, casting="unsafe")


@lowering("MatMulInteger")
def matmul_integer(b: Builder, unit: Unit) -> bool:
    x, y = b.input(unit.inputs[0]), b.input(unit.inputs[1])
    zeros = [b.input(unit.inputs[k]) if unit.input(k) >= 0 else None for k in (2, 3)]
    if x.ndim < 2 or y.ndim < 2 or x.dtype not in BYTE or y.dtype not in BYTE or 0 in (*x.shape, *y.shape):
        return False
    if any(zero is not None and zero.size != 1 for zero in zeros[:1]):
        return False
    if y.constant is not None and y.ndim == 2 and (zeros[1] is None or zeros[1].constant is not None):
        return _by_integer_weight(b, unit, x, y.constant, zeros[0], None if zeros[1] is None else zeros[1].constant)
    if zeros[1] is not None and zeros[1].size != 1:
        return False
    depth = EXACT // (255 * 255) - 1
    cuts = [slice(k, min(k + depth, x.shape[-1])) for k in range(0, x.shape[-1], depth)]
    _in_parts(b, b.new(unit.outputs[0]), centred_input(b, x, zeros[0]), centred_input(b, y, zeros[1]), cuts)
    return True


def _by_integer_weight(b: Builder, unit: Unit, x: Slot, w: Array, zero: Slot | None, zeros: Array | None) -> bool:
    """Rows of x times one matrix of known bytes."""
    rows = math.prod(x.shape[:-1])
    out = b.new(unit.outputs[0])
    if not out.contiguous:
        return False
    flat = b.shaped(x, (rows, x.shape[-1]))
    result = out.view(out.array.reshape(rows, -1))
    if b.jit:
        from exec.lowering.jit.integers import multiply

        if multiply(b, result, flat, zero, w, zeros):
            return True
    centred = centred_weights(b, w, zeros, 1)
    cuts = exact_cuts(centred)
    if len(cuts) == 1:
        carried = b.scratch(result.shape)
        product(b, carried, centred_input(b, flat, zero), centred, transposed=False)
        b.emit(_whole, result, carried)
    else:
        _in_parts(b, result, centred_input(b, flat, zero), b.constant(centred), cuts)
    return True


def exact_cuts(weights: Array) -> list[slice]:
    """Parts of the rows of (K, N) weights whose products with bytes sum exactly in float32."""
    reach = np.abs(weights).astype(np.int64) * 255
    cuts, start, total = [], 0, np.zeros(weights.shape[1], np.int64)
    for k, row in enumerate(reach):
        total = total + row
        if total.max(initial=0) >= EXACT:
            cuts.append(slice(start, k))
            start, total = k, row
    return [*cuts, slice(start, len(reach))]


def _in_parts(b: Builder, out: Slot, x: Slot, y: Slot, cuts: Sequence[slice]) -> None:
    """out = x·y on whole numbers in floats, one exact part of the inner axis after the other."""
    b.emit(partial(_summed, cuts), out, x, y, b.scratch(out.shape), b.scratch(out.shape, out.dtype))


def _summed(cuts: Sequence[slice], out: Array, x: Array, y: Array, carried: Array, whole: Array) -> list[Step]:
    steps: list[Step] = []
    for cut in cuts:
        target = whole if steps else out
        steps += [
            partial(np.matmul, x[..., cut], y[..., cut, :], carried),
            partial(np.copyto, target, carried, casting="unsafe"),
        ]
        if target is whole:
            steps.append(partial(np.add, out, whole, out))
    return steps


def signed_weights(weights: Array, zeros: Array | None, outputs: int) -> tuple[Array, Array | None]:
    """(signed bytes, zero points per output in int32, or None where all are 0)."""
    signed, shift = _signed(weights)
    points = (
        np.zeros(outputs, np.int32)
        if zeros is None
        else np.broadcast_to(zeros.astype(np.int32).reshape(-1), (outputs,))
    )
    points = points - shift
    return signed, np.ascontiguousarray(points, np.int32) if np.any(points) else None
