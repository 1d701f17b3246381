"""Shapes of ops that make a tensor from a shape, a range or nothing."""

from __future__ import annotations

from typing import Any

from passes.dims import fresh, unknowns
from passes.shapes.registry import Call, Shapes, shape_of


@shape_of("Shape")
def shape(call: Call) -> Shapes:
    x = call.shape(0)
    if x is None:
        return (fresh(),)
    return (len(x[window(call, len(x))]),)


def window(call: Call, rank: int) -> slice:
    """Which axes a Shape with start and end reports."""
    start, end = call.attr("start", 0), call.attr("end", rank)
    start = max(0, start + rank if start < 0 else start)
    end = min(rank, end + rank if end < 0 else end)
    return slice(start, max(start, end))


@shape_of("Size")
def size(call: Call) -> Shapes:
    return ()


@shape_of("Constant")
def constant(call: Call) -> Shapes:
    for name, value in call.attrs.items():
        if name in ("value", "sparse_value"):
            return _known(value)
        if name in ("value_float", "value_int", "value_string"):
            return ()
        if name in ("value_floats", "value_ints", "value_strings"):
            return (len(value),)
    return None


def _known(value: Any) -> Shapes:
    given = getattr(value, "shape", None)
    return None if given is None else tuple(int(d) for d in given)


@shape_of("ConstantOfShape")
def constant_of_shape(call: Call) -> Shapes:
    dims = call.ints(0)
    if dims is None:
        return unknowns(call.dim(0, 0))
    return tuple(dims)


@shape_of("RandomNormal", "RandomUniform")
def random(call: Call) -> Shapes:
    return tuple(int(d) for d in call.attr("shape", ()))


@shape_of("Multinomial")
def multinomial(call: Call) -> Shapes:
    x = call.shape(0)
    return None if x is None else (x[0], call.attr("sample_size", 1))


@shape_of("Range")
def range_(call: Call) -> Shapes:
    start, limit, delta = call.ints(0), call.ints(1), call.ints(2)
    if start and limit and delta:
        first, last, step = start[0], limit[0], delta[0]
        if isinstance(first, int) and isinstance(last, int) and isinstance(step, int) and step:
            return (max(0, -(-(last - first) // step)),)
        if first == 0 and step == 1:
            return (last,)
    return (fresh(),)


@shape_of("HannWindow", "HammingWindow", "BlackmanWindow")
def window_function(call: Call) -> Shapes:
    n = call.ints(0)
    return (n[0] if n else fresh(),)


@shape_of("MelWeightMatrix")
def mel_weight_matrix(call: Call) -> Shapes:
    bins, length = call.known_ints(0), call.known_ints(1)
    return (length[0] // 2 + 1, bins[0]) if bins and length else (fresh(), fresh())
