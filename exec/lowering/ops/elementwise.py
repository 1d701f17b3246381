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
"""(out, x, three arrays of their size, attributes) -> calls; `out` may be `x`, the others are neither."""

BLOCK = 1 << 15
"""Elements that all passes go over before the next: they stay in the cache."""


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
    t = scratch[0]
    return [*_hard_sigmoid(t, x, scratch, {"alpha": 1 / 6, "beta": 0.5}), partial(np.multiply, x, t, out)]


def _swish(out: Array, x: Array, scratch: Array, attributes: dict[str, Any]) -> Sequence[Step]:
    """x·σ(αx) = h + h·tanh(αh), h = x/2: a third less than by way of exp, which numpy is slower at."""
    half, t = _scalar(x, 0.5), scratch[0]
    alpha = float(attributes.get("alpha", 1.0))
    inner: list[Step] = [partial(np.tanh, t, scratch[1])]
    if alpha != 1.0:
        inner = [partial(np.multiply, t, _scalar(x, alpha), scratch[1]), partial(np.tanh, scratch[1], scratch[1])]
    return [
        partial(np.multiply, x, half, t), *inner, partial(np.multiply, scratch[1], t, scratch[1]),
        partial(np.add, scratch[1], t, out),
    ]  # fmt: skip


def _leaky_relu(out: Array, x: Array, scratch: Array, attributes: dict[str, Any]) -> Sequence[Step]:
    alpha = float(attributes.get("alpha", 0.01))
    fold = np.maximum if alpha <= 1 else np.minimum
    t = scratch[0]
    return [partial(np.multiply, x, _scalar(x, alpha), t), partial(fold, x, t, out=out)]


def _elu(out: Array, x: Array, scratch: Array, attributes: dict[str, Any]) -> Sequence[Step]:
    zero, inf, t = _scalar(x, 0), _scalar(x, np.inf), scratch[0]
    steps = [partial(clip_ufunc, x, _scalar(x, -np.inf), zero, t), partial(np.expm1, t, t)]
    if attributes.get("alpha", 1.0) != 1.0:
        steps.append(partial(np.multiply, t, _scalar(x, attributes["alpha"]), t))
    return [*steps, partial(clip_ufunc, x, zero, inf, out), partial(np.add, out, t, out)]


def _erf_polynomial(x: Array, y: Array, square: Array, t: Array, scale: float) -> list[Step]:
    """y = x·P((scale·x)²)·scale on clamped x, so that erf(scale·x) = tanh(y)."""
    from exec.kernels.math.exponential import _ATANH_ERF, _FLAT_FROM

    limit = _FLAT_FROM / scale
    steps: list[Step] = [
        partial(clip_ufunc, x, _scalar(x, -limit), _scalar(x, limit), y), partial(np.square, y, square),
    ]  # fmt: skip
    scaled = [_scalar(x, c * scale ** (2 * k + 1)) for k, c in enumerate(_ATANH_ERF)]
    return [*steps, *_horner(y, square, t, scaled)]


def _horner(y: Array, square: Array, t: Array, coefficients: Sequence[Array]) -> list[Step]:
    """y ← y·P(square)."""
    steps: list[Step] = [partial(np.multiply, square, coefficients[-1], t)]
    for coefficient in coefficients[-2:0:-1]:
        steps += [partial(np.add, t, coefficient, t), partial(np.multiply, t, square, t)]
    return [*steps, partial(np.add, t, coefficients[0], t), partial(np.multiply, y, t, y)]


def _erf(out: Array, x: Array, scratch: Array, attributes: dict[str, Any]) -> Sequence[Step]:
    y, square, t = scratch
    return [*_erf_polynomial(x, y, square, t, 1.0), partial(np.tanh, y, out)]


def _gelu(out: Array, x: Array, scratch: Array, attributes: dict[str, Any]) -> Sequence[Step]:
    """x/2·(1 + erf(x/√2)), or its tanh form."""
    y, square, t = scratch
    half = _scalar(x, 0.5)
    if attributes.get("approximate", "none") == "tanh":
        linear = math.sqrt(2 / math.pi)
        steps: list[Step] = [
            partial(clip_ufunc, x, _scalar(x, -10), _scalar(x, 10), y), partial(np.square, y, square),
            *_horner(y, square, t, [_scalar(x, linear), _scalar(x, linear * 0.044715)]),
        ]  # fmt: skip
    else:
        steps = _erf_polynomial(x, y, square, t, math.sqrt(0.5))
    return [
        *steps, partial(np.tanh, y, y), partial(np.multiply, x, half, t), partial(np.multiply, y, t, y),
        partial(np.add, y, t, out),
    ]  # fmt: skip


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
    out = result(b, unit, x)
    if not out.contiguous:
        return False
    passes, attributes = SEVERAL[unit.op], unit.attributes
    b.emit(partial(_by_blocks, passes, attributes), out, x, b.scratch((3, min(x.size, BLOCK)), x.dtype))
    return True


def _by_blocks(passes: Passes, attributes: dict[str, Any], out: Array, x: Array, scratch: Array) -> list[Step]:
    """All passes over one part, then over the next: it stays in the cache."""
    target, source = out.reshape(-1), x.reshape(-1)
    steps: list[Step] = []
    for start in range(0, source.size, BLOCK):
        part = source[start : start + BLOCK]
        steps += passes(target[start : start + BLOCK], part, scratch[:, : part.size], attributes)
    return steps


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
    if x.dtype not in NATIVE or spec.dtype not in NATIVE:
        return False
    b.emit(_cast, b.new(unit.outputs[0]), x)
    return True


def _cast(out: Array, x: Array) -> Step:
    return partial(np.copyto, out, x, casting="unsafe")
