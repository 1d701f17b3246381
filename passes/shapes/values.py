"""Elements of small integer tensors: the arithmetic that computes shapes, on expressions.

Arrays here hold Python objects, `int` or `Expr`; numpy's own indexing, joining and broadcasting work on them. A float tensor takes part
while all its elements are whole numbers (exporters cast sizes to float and back).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exec.arrays import Array
from passes.dims import Dim, Expr, divide, floordiv, lower, maximum, modulo, product, smaller
from passes.shapes.generator import window
from passes.shapes.movement import reshaped
from passes.shapes.registry import VALUE_LIMIT, Call, Values, objects, value_of


def _is_integer(call: Call, i: int = 0) -> bool:
    fact = call.fact(i)
    return fact is not None and fact.dtype is not None and fact.dtype.kind in "iu"


@value_of("Shape")
def shape(call: Call) -> Values:
    x = call.shape(0)
    if x is None:
        return None
    dims = list(x[window(call, len(x))])
    return objects((len(dims),), dims)


@value_of("Size")
def size(call: Call) -> Values:
    x = call.shape(0)
    return None if x is None else objects((), [product(x)])


@value_of("Identity", "Dropout")
def identity(call: Call) -> Values:
    return [call.value(0)] + [None] * (call.n_outputs - 1)


@value_of("Cast", "CastLike")
def cast(call: Call) -> Values:
    x, source = call.value(0), call.fact(0)
    target = call.attr("to")
    if x is None or source is None or source.dtype is None or source.dtype.kind not in "iuf":
        return None
    # float32 holds sizes below 2^24 exactly; int32 and int64 hold every size a tensor can have; int8 does not
    return x if target in (1, 6, 7, 11) or (call.op == "CastLike" and call.fact(1) is not None) else None


@value_of("Gather")
def gather(call: Call) -> Values:
    x, indices = call.value(0), call.array(1)
    if indices is None:
        known = call.value(1)
        indices = None if known is None or not _numbers(known) else known.astype(np.int64)
    if x is None or indices is None or x.ndim == 0 or indices.dtype.kind not in "iu":
        return None
    axis = call.attr("axis", 0)
    if indices.size and (indices.max() >= x.shape[axis] or indices.min() < -x.shape[axis]):
        return None
    return _array(np.take(x, indices, axis=axis))


@value_of("Slice")
def slice_(call: Call) -> Values:
    x = call.value(0)
    starts, ends = call.known_ints(1, "starts"), call.known_ints(2, "ends")
    if x is None or starts is None or ends is None:
        return None
    axes = call.known_ints(3, "axes")
    if axes is None:
        if call.has(3):
            return None
        axes = list(range(len(starts)))
    steps = call.known_ints(4) if call.has(4) else [1] * len(starts)
    if steps is None:
        return None
    index: list[slice] = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        stop = None if step < 0 and end < -x.shape[axis] else end
        index[axis] = slice(start, stop, step)
    return x[tuple(index)]


@value_of("Concat")
def concat(call: Call) -> Values:
    parts = [call.value(i) for i in range(len(call.inputs))]
    if any(p is None or p.ndim == 0 for p in parts):
        return None
    return np.concatenate([p for p in parts if p is not None], axis=call.attr("axis", 1))


@value_of("Unsqueeze", "Squeeze", "Reshape", "Flatten")
def reshape(call: Call) -> Values:
    x = call.value(0)
    if x is None:
        return None
    if call.op == "Reshape":
        target = call.known_ints(1, "shape")
        shape = None if target is None else reshaped(x.shape, list(target), bool(call.attr("allowzero", 0)))
    elif call.op == "Flatten":
        axis = call.attr("axis", 1)
        axis = axis + x.ndim if axis < 0 else axis
        shape = (product(x.shape[:axis]), product(x.shape[axis:]))
    else:
        shape = _squeezed(call, x)
    if shape is None or not all(isinstance(d, int) for d in shape):
        return None
    return x.reshape(tuple(int(str(d)) for d in shape))


def _squeezed(call: Call, x: Array) -> tuple[int, ...] | None:
    axes = call.known_ints(1, "axes")
    if axes is None:
        return None if call.op == "Unsqueeze" or call.has(1) else tuple(d for d in x.shape if d != 1)
    if call.op == "Squeeze":
        gone = {a % x.ndim for a in axes}
        return tuple(d for i, d in enumerate(x.shape) if i not in gone)
    rank, left = x.ndim + len(axes), iter(x.shape)
    new = {a % rank for a in axes}
    return tuple(1 if i in new else next(left) for i in range(rank))


@value_of("Transpose")
def transpose(call: Call) -> Values:
    x = call.value(0)
    return None if x is None else x.transpose(call.attr("perm"))


@value_of("Split")
def split(call: Call) -> Values:
    x, sizes = call.value(0), call.known_ints(1, "split")
    if x is None:
        return None
    axis = call.attr("axis", 0)
    if sizes is None:
        if call.has(1):
            return None
        piece = -(-x.shape[axis] // call.n_outputs)
        return list(np.split(x, [piece * k for k in range(1, call.n_outputs)], axis=axis))
    return list(np.split(x, np.cumsum(sizes)[:-1].tolist(), axis=axis))


@value_of("Expand", "Tile")
def repeat(call: Call) -> Values:
    x, target = call.value(0), call.known_ints(1)
    if x is None or target is None or count(target) > VALUE_LIMIT:
        return None
    if call.op == "Tile":
        return np.tile(x, target)
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(target)))


@value_of("ConstantOfShape")
def constant_of_shape(call: Call) -> Values:
    dims = call.known_ints(0)
    if dims is None or count(dims) > VALUE_LIMIT:
        return None
    value = call.attr("value")
    array = getattr(value, "values", value)
    if array is None:
        element: Any = 0
    else:
        element = np.asarray(array).reshape(-1)[0]
        if element != int(element):
            return None
    return objects(tuple(dims), [int(element)] * count(dims))


@value_of("Range")
def range_(call: Call) -> Values:
    bounds = [call.known_ints(i) for i in range(3)]
    if any(not b for b in bounds):
        return None
    start, limit, delta = (b[0] for b in bounds if b)
    if not delta or (limit - start) / delta > VALUE_LIMIT:
        return None
    elements: list[Any] = list(range(start, limit, delta))
    return objects((len(elements),), elements)


def count(dims: list[int]) -> int:
    """How many elements a shape of numbers has."""
    total = 1
    for d in dims:
        total *= d
    return total


def _binary(call: Call, function: Callable[[Dim, Dim], Any]) -> Values:
    a, b = call.value(0), call.value(1)
    if a is None or b is None:
        return None
    a, b = np.broadcast_arrays(a, b)
    if a.size > VALUE_LIMIT:
        return None
    out = [function(x, y) for x, y in zip(a.reshape(-1), b.reshape(-1), strict=True)]
    return None if any(v is None for v in out) else objects(a.shape, out)


@value_of("Add")
def add(call: Call) -> Values:
    return _binary(call, lambda a, b: a + b)


@value_of("Sub")
def sub(call: Call) -> Values:
    return _binary(call, lambda a, b: a - b)


@value_of("Mul")
def mul(call: Call) -> Values:
    return _binary(call, lambda a, b: a * b)


@value_of("Div")
def div(call: Call) -> Values:
    return _binary(call, _truncated if _is_integer(call) else _exact)


def _truncated(a: Dim, b: Dim) -> Dim | None:
    """Integer division of the specification: toward zero."""
    if isinstance(a, int) and isinstance(b, int):
        return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    low_a, low_b = lower(a), lower(b)
    return floordiv(a, b) if low_a is not None and low_a >= 0 and low_b is not None and low_b > 0 else None


def _exact(a: Dim, b: Dim) -> Dim | None:
    return divide(a, b) if isinstance(b, int) and b else None


@value_of("Mod")
def mod(call: Call) -> Values:
    return None if call.attr("fmod", 0) else _binary(call, lambda a, b: None if b == 0 else modulo(a, b))


@value_of("Max")
def max_(call: Call) -> Values:
    return _binary(call, maximum) if len(call.inputs) == 2 else None


@value_of("Min")
def min_(call: Call) -> Values:
    return _binary(call, smaller) if len(call.inputs) == 2 else None


@value_of("Floor", "Ceil", "Round")
def rounding(call: Call) -> Values:
    return call.value(0)


@value_of("Neg")
def neg(call: Call) -> Values:
    x = call.value(0)
    return None if x is None else objects(x.shape, [-v for v in x.reshape(-1)])


@value_of("Abs", "Relu")
def positive(call: Call) -> Values:
    x = call.value(0)
    return x if x is not None and all((low := lower(v)) is not None and low >= 0 for v in x.reshape(-1)) else None


def _numbers(*arrays: Array | None) -> bool:
    return all(a is not None and all(isinstance(v, int) for v in a.reshape(-1)) for a in arrays)


def _equal(a: Dim, b: Dim) -> int | None:
    gap = a - b
    if isinstance(gap, int):
        return int(gap == 0)
    low, high = lower(gap), lower(-gap)
    return 0 if (low is not None and low > 0) or (high is not None and high > 0) else None


@value_of("Equal")
def equal(call: Call) -> Values:
    return _binary(call, _equal)


@value_of("Less", "LessOrEqual", "Greater", "GreaterOrEqual")
def compare(call: Call) -> Values:
    test = {
        "Less": _less,
        "LessOrEqual": _not_above,
        "Greater": lambda a, b: _less(b, a),
        "GreaterOrEqual": lambda a, b: _not_above(b, a),
    }
    return _binary(call, test[call.op])


def _less(a: Dim, b: Dim) -> int | None:
    low, high = lower(b - a), lower(a - b)
    return 1 if low is not None and low > 0 else 0 if high is not None and high >= 0 else None


def _not_above(a: Dim, b: Dim) -> int | None:
    low, high = lower(b - a), lower(a - b)
    return 1 if low is not None and low >= 0 else 0 if high is not None and high > 0 else None


@value_of("Not")
def not_(call: Call) -> Values:
    x = call.value(0)
    return objects(x.shape, [int(not v) for v in x.reshape(-1)]) if x is not None and _numbers(x) else None


@value_of("And", "Or")
def logic(call: Call) -> Values:
    if call.op == "And":
        return _binary(
            call, lambda a, b: None if isinstance(a, Expr) or isinstance(b, Expr) else int(bool(a) and bool(b))
        )
    return _binary(call, lambda a, b: None if isinstance(a, Expr) or isinstance(b, Expr) else int(bool(a) or bool(b)))


@value_of("Where")
def where(call: Call) -> Values:
    condition, a, b = call.value(0), call.value(1), call.value(2)
    if condition is None or a is None or b is None or not _numbers(condition):
        return None
    c, a, b = np.broadcast_arrays(condition, a, b)
    if c.size > VALUE_LIMIT:
        return None
    return objects(
        c.shape, [x if t else y for t, x, y in zip(c.reshape(-1), a.reshape(-1), b.reshape(-1), strict=True)]
    )


@value_of("ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin")
def reduce_(call: Call) -> Values:
    x, axes = call.value(0), call.known_ints(1, "axes")
    if x is None or x.ndim > 1 or (axes is None and call.has(1)) or (not axes and call.attr("noop_with_empty_axes", 0)):
        return None
    elements = list(x.reshape(-1))
    if not elements:
        return None
    total = elements[0]
    for v in elements[1:]:
        total = {
            "ReduceSum": lambda p, q: p + q,
            "ReduceProd": lambda p, q: p * q,
            "ReduceMax": maximum,
            "ReduceMin": smaller,
        }[call.op](total, v)
    return objects((1,) * x.ndim if call.attr("keepdims", 1) else (), [total])


@value_of("ScatterND", "ScatterElements")
def scatter(call: Call) -> Values:
    x, indices, updates = call.value(0), call.value(1), call.value(2)
    if x is None or indices is None or updates is None or x.ndim != 1 or not _numbers(indices):
        return None
    if call.attr("reduction", "none") not in ("none", b"none") or updates.ndim != 1:
        return None
    out = x.copy()
    for k, v in zip(indices.reshape(-1), updates.reshape(-1), strict=True):
        out[k] = v
    return out


def _array(found: Any) -> Array:
    return found if isinstance(found, np.ndarray) else objects((), [found])
