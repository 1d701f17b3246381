"""Shapes of reductions, of sorting and of selection."""

from __future__ import annotations

from passes.dims import Dim, fresh
from passes.shapes.registry import Call, Shapes, shape_of

REDUCTIONS = [
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceSumSquare",
]


@shape_of(*REDUCTIONS)
def reduce_(call: Call) -> Shapes:
    x = call.shape(0)
    if x is None:
        return None
    keep = bool(call.attr("keepdims", 1))
    axes = call.known_ints(1, "axes")
    if axes is None and call.has(1):
        return tuple(fresh() for _ in x) if keep else None
    if not axes:
        if call.attr("noop_with_empty_axes", 0):
            return x
        axes = list(range(len(x)))
    gone = {a % len(x) for a in axes} if x else set()
    if keep:
        return tuple(1 if i in gone else d for i, d in enumerate(x))
    return tuple(d for i, d in enumerate(x) if i not in gone)


@shape_of("ArgMax", "ArgMin")
def arg(call: Call) -> Shapes:
    x = call.shape(0)
    if x is None:
        return None
    axis = call.attr("axis", 0) % len(x)
    middle: tuple[Dim, ...] = (1,) if call.attr("keepdims", 1) else ()
    return x[:axis] + middle + x[axis + 1 :]


@shape_of("TopK")
def top_k(call: Call) -> Shapes:
    x, k = call.shape(0), call.ints(1, "k")
    if x is None:
        return None
    axis = call.attr("axis", -1) % len(x)
    y = (*x[:axis], k[0] if k else fresh(), *x[axis + 1 :])
    return [y, y]


@shape_of("NonMaxSuppression")
def non_max_suppression(call: Call) -> Shapes:
    return (fresh(), 3)


@shape_of("OneHot")
def one_hot(call: Call) -> Shapes:
    indices, depth = call.shape(0), call.ints(1)
    if indices is None:
        return None
    axis = call.attr("axis", -1) % (len(indices) + 1)
    return (*indices[:axis], depth[0] if depth else fresh(), *indices[axis:])
