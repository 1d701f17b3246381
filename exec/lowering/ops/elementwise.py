"""Elementwise ops as ufunc calls into arena memory, over a dying input where there is one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.registry import lowering
from exec.lowering.ufuncs import clip_ufunc
from exec.lowering.units import Unit

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))

NATIVE = frozenset(np.dtype(c) for c in "?bBhHiIlLqQefd")
"""Types numpy casts by itself: ml_dtypes' narrow floats call themselves floats too."""

BINARY: dict[str, Callable[..., Any]] = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.true_divide}
EXTREMES: dict[str, Callable[..., Any]] = {"Max": np.maximum, "Min": np.minimum, "Sum": np.add}
COMPARISONS: dict[str, Callable[..., Any]] = {
    "Equal": np.equal, "Less": np.less, "Greater": np.greater, "LessOrEqual": np.less_equal,
    "GreaterOrEqual": np.greater_equal, "And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor,
}  # fmt: skip
ONE_PASS: dict[str, Callable[..., Any]] = {
    "Sqrt": np.sqrt, "Exp": np.exp, "Log": np.log, "Neg": np.negative, "Abs": np.absolute, "Tanh": np.tanh,
    "Floor": np.floor, "Ceil": np.ceil, "Round": np.rint, "Reciprocal": np.reciprocal, "Sin": np.sin, "Cos": np.cos,
    "Sign": np.sign,
}  # fmt: skip


def result(b: Builder, unit: Unit, *inputs: Slot) -> Slot:
    """Room for the unit's elementwise output."""
    return b.new_or_reused(unit.outputs[0], *inputs)


@lowering(*BINARY)
def binary(b: Builder, unit: Unit) -> bool:
    x, y = b.input(unit.inputs[0]), b.input(unit.inputs[1])
    out = b.units.specs[unit.outputs[0]]
    if unit.opset < 7 or x.dtype != y.dtype or x.dtype != out.dtype:
        return False
    if x.dtype not in FLOATS and (x.dtype.kind not in "iu" or unit.op == "Div"):
        return False
    ufunc = BINARY[unit.op]
    if unit.op == "Div" and y.constant is not None and y.size == 1 and _is_power_of_two(y.constant):
        ufunc, y = np.multiply, b.constant(np.reciprocal(y.constant))
    b.emit(partial(_binary, ufunc), result(b, unit, x, y), x, y)
    return True


def _is_power_of_two(value: Array) -> bool:
    """Whether dividing by `value` is exactly multiplying by its reciprocal."""
    number = float(value.reshape(())) if value.size == 1 else 0.0
    return number != 0 and math.isfinite(number) and math.frexp(number)[0] in (0.5, -0.5) and abs(number) < 2.0**100


def _binary(ufunc: Callable[..., Any], out: Array, x: Array, y: Array) -> Step:
    return partial(ufunc, x, y, out=out)


@lowering(*EXTREMES)
def extreme(b: Builder, unit: Unit) -> bool:
    slots = [b.input(n) for n in unit.inputs]
    spec = b.units.specs[unit.outputs[0]]
    if unit.opset < 8 or spec.dtype not in FLOATS or any(s.dtype != spec.dtype for s in slots):
        return False
    ufunc = EXTREMES[unit.op]
    if len(slots) == 1:
        out = result(b, unit, slots[0])
        b.emit(_copied, out, slots[0])
        return True
    if unit.op in ("Max", "Min") and len(slots) == 2 and slots[1].constant is not None and slots[1].size == 1:
        bound = slots[1].constant.reshape(())
        low, high = (bound, _infinite(bound, 1)) if unit.op == "Max" else (_infinite(bound, -1), bound)
        b.emit(partial(_clipped, low, high), result(b, unit, slots[0]), slots[0])
        return True
    if len(slots) > 2 and any(s.shape != spec.shape for s in slots):
        return False
    # Only the first two may lend their memory: the others are still to be read.
    out = b.new(unit.outputs[0]) if len(slots) > 2 else result(b, unit, *slots)
    b.emit(partial(_folded, ufunc), out, *slots)
    return True


def _infinite(like: Array, sign: int) -> Array:
    return np.asarray(sign * np.inf, like.dtype)


def _copied(out: Array, x: Array) -> Step:
    return partial(np.copyto, out, x)


def _clipped(low: Array, high: Array, out: Array, x: Array) -> Step:
    return partial(clip_ufunc, x, low, high, out)


def _folded(ufunc: Callable[..., Any], out: Array, first: Array, second: Array, *rest: Array) -> list[Step]:
    steps: list[Step] = [_binary(ufunc, out, first, second)]
    return steps + [partial(ufunc, out, other, out=out) for other in rest]


@lowering(*COMPARISONS)
def comparison(b: Builder, unit: Unit) -> bool:
    x, y = b.input(unit.inputs[0]), b.input(unit.inputs[1])
    if unit.opset < 7 or x.dtype != y.dtype or x.dtype.kind not in "fiub":
        return False
    b.emit(partial(_binary, COMPARISONS[unit.op]), b.new_or_reused(unit.outputs[0], x, y), x, y)
    return True


@lowering("Not")
def logical_not(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    b.emit(partial(_unary, np.logical_not), result(b, unit, x), x)
    return True


@lowering("IsNaN")
def is_nan(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    if x.dtype not in FLOATS:
        return False
    b.emit(partial(_unary, np.isnan), b.new(unit.outputs[0]), x)
    return True


def _unary(ufunc: Callable[..., Any], out: Array, x: Array) -> Step:
    return partial(ufunc, x, out)


@lowering(*ONE_PASS)
def one_pass(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    if x.dtype not in FLOATS:
        return False
    b.emit(partial(_unary, ONE_PASS[unit.op]), result(b, unit, x), x)
    return True


@lowering("Where")
def where(b: Builder, unit: Unit) -> bool:
    condition, x, y = (b.input(n) for n in unit.inputs)
    if x.dtype != y.dtype:
        return False
    out = b.new(unit.outputs[0])
    b.emit(_where, out, condition, x, y)
    return True


def _where(out: Array, condition: Array, x: Array, y: Array) -> list[Step]:
    return [partial(np.copyto, out, y), partial(np.copyto, out, x, where=condition)]


@lowering("Relu")
def relu(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    if x.dtype not in FLOATS:
        return False
    low, high = np.zeros((), x.dtype), np.asarray(np.inf, x.dtype)
    b.emit(partial(_clipped, low, high), result(b, unit, x), x)
    return True


@lowering("Clip")
def clip(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    bounds = clip_bounds(b, unit)
    if x.dtype not in FLOATS or bounds is None:
        return False
    low, high = (np.asarray(v, x.dtype) for v in bounds)
    b.emit(partial(_clipped, low, high), result(b, unit, x), x)
    return True


def clip_bounds(b: Builder, unit: Unit) -> tuple[float, float] | None:
    """The bounds of a Clip if they are the same in every run."""
    if unit.opset < 11:
        limit = float(np.finfo(np.float32).max)
        return float(unit.attributes.get("min", -limit)), float(unit.attributes.get("max", limit))
    bounds = [-math.inf, math.inf]
    for k in (1, 2):
        if unit.input(k) >= 0:
            value = b.units.constant(unit.input(k))
            if value is None:
                return None
            bounds[k - 1] = float(value.reshape(()))
    return bounds[0], bounds[1]


@lowering("Pow")
def power(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    exponent = b.units.constant(unit.inputs[1])
    if x.dtype not in FLOATS or exponent is None or exponent.size != 1:
        return False
    if x.shape != b.units.specs[unit.outputs[0]].shape:
        return False
    value = float(exponent.reshape(()))
    if value in (2.0, 0.5, -1.0):
        ufunc = {2.0: np.square, 0.5: np.sqrt, -1.0: np.reciprocal}[value]
        b.emit(partial(_unary, ufunc), result(b, unit, x), x)
    elif value == 3.0:
        out, square = b.new(unit.outputs[0]), b.scratch(x.shape, x.dtype)
        b.emit(_cube, out, x, square)
    else:
        b.emit(partial(_powered, np.asarray(value, x.dtype)), result(b, unit, x), x)
    return True


def _cube(out: Array, x: Array, square: Array) -> list[Step]:
    return [partial(np.multiply, x, x, square), partial(np.multiply, square, x, out)]


def _powered(exponent: Array, out: Array, x: Array) -> Step:
    return partial(np.power, x, exponent, out)


Passes = Callable[[Array, Array, Array, dict[str, Any]], Sequence[Step]]
"""(out, x, scratch, attributes) -> calls; `out` may be `x`, `scratch` is neither."""


def _scalar(x: Array, value: float) -> Array:
    return np.asarray(value, x.dtype)


def _sigmoid(out: Array, x: Array, scratch: Array, attributes: dict[str, Any]) -> Sequence[Step]:
    one = _scalar(x, 1)
    return [
        partial(np.negative, x, out), partial(np.exp, out, out), partial(np.add, out, one, out),
        partial(np.reciprocal, out, out),
    ]  # fmt: skip


def _hard_sigmoid(out: Array, x: Array, scratch: Array, attributes: dict[str, Any]) -> Sequence[Step]:
    alpha, beta = _scalar(x, attributes.get("alpha", 0.2)), _scalar(x, attributes.get("beta", 0.5))
    return [
        partial(np.multiply, x, alpha, out), partial(np.add, out, beta, out),
        partial(clip_ufunc, out, _scalar(x, 0), _scalar(x, 1), out),
    ]  # fmt: skip


def _hard_swish(out: Array, x: Array, scratch: Array, attributes: dict[str, Any]) -> Sequence[Step]:
    return [*_hard_sigmoid(scratch, x, scratch, {"alpha": 1 / 6, "beta": 0.5}), partial(np.multiply, x, scratch, out)]


def _swish(out: Array, x: Array, scratch: Array, attributes: dict[str, Any]) -> Sequence[Step]:
    alpha = float(attributes.get("alpha", 1.0))
    one = _scalar(x, 1)
    return [
        partial(np.multiply, x, _scalar(x, -alpha), scratch), partial(np.exp, scratch, scratch),
        partial(np.add, scratch, one, scratch), partial(np.divide, x, scratch, out),
    ]  # fmt: skip


def _leaky_relu(out: Array, x: Array, scratch: Array, attributes: dict[str, Any]) -> Sequence[Step]:
    alpha = float(attributes.get("alpha", 0.01))
    fold = np.maximum if alpha <= 1 else np.minimum
    return [partial(np.multiply, x, _scalar(x, alpha), scratch), partial(fold, x, scratch, out=out)]


def _elu(out: Array, x: Array, scratch: Array, attributes: dict[str, Any]) -> Sequence[Step]:
    zero, inf = _scalar(x, 0), _scalar(x, np.inf)
    steps = [partial(clip_ufunc, x, _scalar(x, -np.inf), zero, scratch), partial(np.expm1, scratch, scratch)]
    if attributes.get("alpha", 1.0) != 1.0:
        steps.append(partial(np.multiply, scratch, _scalar(x, attributes["alpha"]), scratch))
    return [*steps, partial(clip_ufunc, x, zero, inf, out), partial(np.add, out, scratch, out)]


def _erf_polynomial(x: Array, scratch: Array, y: Array, scale: float) -> list[Step]:
    """y = x·P((scale·x)²)·scale on clamped x, so that erf(scale·x) = tanh(y); `x` may not be `y`."""
    from exec.kernels.math.exponential import _ATANH_ERF, _FLAT_FROM

    limit = _FLAT_FROM / scale
    steps: list[Step] = [
        partial(clip_ufunc, x, _scalar(x, -limit), _scalar(x, limit), y), partial(np.square, y, scratch),
    ]  # fmt: skip
    scaled = [_scalar(x, c * scale ** (2 * k + 1)) for k, c in enumerate(_ATANH_ERF)]
    return [*steps, partial(_horner, y, scratch, scaled)]


def _horner(y: Array, square: Array, coefficients: Sequence[Array]) -> None:
    """y ← y·P(square), by blocks that stay in the cache."""
    flat, squares = y.reshape(-1), square.reshape(-1)
    for start in range(0, flat.size, BLOCK):
        part, s = flat[start : start + BLOCK], squares[start : start + BLOCK]
        t = s * coefficients[-1]
        for coefficient in coefficients[-2:0:-1]:
            t += coefficient
            t *= s
        t += coefficients[0]
        part *= t


BLOCK = 1 << 15


def _erf(out: Array, x: Array, scratch: Array, attributes: dict[str, Any]) -> Sequence[Step]:
    return [*_erf_polynomial(x, scratch, out, 1.0), partial(np.tanh, out, out)]


def _gelu(out: Array, x: Array, scratch: Array, attributes: dict[str, Any]) -> Sequence[Step]:
    return [partial(gelu_blocks, x.reshape(-1), out.reshape(-1), attributes.get("approximate", "none") == "tanh")]


def gelu_blocks(x: Array, out: Array, by_tanh: bool) -> None:
    """out ← x/2·(1 + erf(x/√2)), or its tanh form, by blocks: seventeen passes over one that stays in the cache."""
    from exec.kernels.math.exponential import _ATANH_ERF, _FLAT_FROM

    f = x.dtype.type
    half = f(0.5)
    if by_tanh:
        linear = math.sqrt(2 / math.pi)
        coefficients, limit = [f(linear), f(linear * 0.044715)], f(10.0)
    else:
        scale = math.sqrt(0.5)
        coefficients = [f(c * scale ** (2 * k + 1)) for k, c in enumerate(_ATANH_ERF)]
        limit = f(_FLAT_FROM / scale)
    y, square, t = (np.empty(min(BLOCK, x.size), x.dtype) for _ in range(3))
    for start in range(0, x.size, BLOCK):
        part = x[start : start + BLOCK]
        n = part.size
        a, s, p = y[:n], square[:n], t[:n]
        clip_ufunc(part, -limit, limit, a)
        np.square(a, s)
        np.multiply(s, coefficients[-1], p)
        for coefficient in coefficients[-2:0:-1]:
            np.add(p, coefficient, p)
            np.multiply(p, s, p)
        np.add(p, coefficients[0], p)
        np.multiply(p, a, p)
        np.tanh(p, p)
        np.multiply(part, half, a)
        np.multiply(p, a, p)
        np.add(p, a, out[start : start + n])


SEVERAL: dict[str, Passes] = {
    "Sigmoid": _sigmoid, "HardSigmoid": _hard_sigmoid, "HardSwish": _hard_swish, "Swish": _swish,
    "LeakyRelu": _leaky_relu, "Elu": _elu, "Erf": _erf, "Gelu": _gelu,
}  # fmt: skip


@lowering(*SEVERAL)
def several_passes(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    if x.dtype != np.float32:
        return False
    x = b.copied(x)
    out = b.new(unit.outputs[0]) if unit.op == "Erf" else result(b, unit, x)
    if not out.contiguous:
        return False
    passes, attributes = SEVERAL[unit.op], unit.attributes
    b.emit(lambda o, i, s: passes(o, i, s, attributes), out, x, b.scratch(x.shape, x.dtype))
    return True


@lowering("PRelu")
def prelu(b: Builder, unit: Unit) -> bool:
    x, slope = b.input(unit.inputs[0]), b.input(unit.inputs[1])
    if x.dtype != np.float32 or unit.opset < 7 or slope.dtype != x.dtype:
        return False
    out, scratch = b.new(unit.outputs[0]), b.scratch(x.shape, x.dtype)
    b.emit(_prelu, out, x, slope, scratch)
    return True


def _prelu(out: Array, x: Array, slope: Array, scratch: Array) -> list[Step]:
    zero, inf = _scalar(x, 0), _scalar(x, np.inf)
    return [
        partial(clip_ufunc, x, -inf, zero, scratch), partial(np.multiply, scratch, slope, scratch),
        partial(clip_ufunc, x, zero, inf, out), partial(np.add, out, scratch, out),
    ]  # fmt: skip


@lowering("Cast")
def cast(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    spec = b.units.specs[unit.outputs[0]]
    if x.constant is not None:
        return False
    before, after = (b.units.narrow.get(n) for n in (unit.inputs[0], unit.outputs[0]))
    if after is not None and after != before:  # it will be rounded, so it needs memory of its own
        b.emit(_cast, b.new(unit.outputs[0]), x)
        return x.dtype.kind in "fiub"
    if x.dtype == spec.dtype:
        b.alias(unit.outputs[0], x, x.array)
        return True
    if x.dtype not in NATIVE or spec.dtype not in NATIVE or (x.dtype.kind == "f" and spec.dtype.kind in "iu"):
        return False  # out of range, the kernel knows what the specification says
    b.emit(_cast, b.new(unit.outputs[0]), x)
    return True


def _cast(out: Array, x: Array) -> Step:
    return partial(np.copyto, out, x, casting="unsafe")
