"""When an integer that differs is no mistake: it was rounded, chosen or compared from a float that lay on the edge.

Two roundings of one real may fall on either side of an edge. Where the graph shows the edge, the distance to it is measured; where it does
not, the original itself must give other integers at the same places when its inputs move in their last bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.errors import BenchError
from exec.ir import Graph, Node
from exec.metrics import difference

Run = Callable[[Mapping[Any, Value]], Value]
"""One value of the original, for these inputs."""

ORDERED = frozenset(["Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten"])
"""Ops that keep the elements in their order."""

COMPARES = frozenset(["Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal"])

NUDGES = (2, 2, 8, 32)
"""In units of the last bit; each draws anew."""


def nudged(value: Value, rng: np.random.Generator, bits: int = 2) -> Any:
    """A float array with its elements moved by up to `bits` last bits; anything else as it is."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    eps = np.finfo(value.dtype).eps
    return (value * (1 + eps * rng.integers(-bits, bits + 1, value.shape)).astype(value.dtype)).astype(value.dtype)


def moves(run: Run, feeds: Mapping[Any, Value], want: Value, bits: int = 1) -> float:
    """How far a value of the original moves, as a share of its range, when the inputs change in their last bits."""
    rng = np.random.default_rng(0)
    try:
        gap = difference(want, run({k: nudged(v, rng, 2 * bits) for k, v in feeds.items()}))
    except BenchError:
        return 0.0
    return 0.0 if gap.note else gap.max_of_range


def flips(run: Run, feeds: Mapping[Any, Value], want: Array, got: Array, unit: int = 1) -> bool:
    """Whether the original, nudged, changes at every place where `got` differs."""
    if not any(isinstance(v, np.ndarray) and v.dtype.kind == "f" for v in feeds.values()):
        return False
    left = np.asarray(want != got)
    for seed, bits in enumerate(NUDGES):
        rng = np.random.default_rng(seed)
        try:
            other = run({k: nudged(v, rng, bits * unit) for k, v in feeds.items()})
        except BenchError:
            return False
        if not isinstance(other, np.ndarray) or other.shape != want.shape:
            return False
        left = left & (other == want)
        if not left.any():
            return True
    return False


def edge(graph: Graph, name: str) -> Node | None:
    """The node that made integers of floats for output `name`, if its elements come in the same order."""
    tensor: Any = next((t for t in graph.outputs if t.name == name), None)
    while tensor is not None and tensor.inputs:
        node: Node = tensor.inputs[0]
        if node.domain:
            return None
        if node.op in ("ArgMax", "ArgMin", "QuantizeLinear") or node.op in COMPARES:
            return node
        if node.op == "TopK":
            return node if tensor is node.outputs[1] else None
        if node.op == "Cast" and _is_float(node.inputs[0]):
            return node
        if node.op not in ORDERED:
            return None
        tensor = node.inputs[0]
    return None


def _is_float(tensor: Any) -> bool:
    dtype = tensor.dtype
    return isinstance(dtype, np.dtype) and dtype.kind == "f"


def on_edge(
    node: Node, inputs: list[Value], want: Array, got: Array, tolerance: Callable[[np.dtype[Any]], float]
) -> bool:
    """Whether every element that differs came from a float within the tolerance of the edge.

    node    as `edge` found it; `inputs` its operands in the original
    """
    x = inputs[0]
    if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
        return False
    near = tolerance(x.dtype) * float(np.abs(x[np.isfinite(x)]).max(initial=0.0))
    wrong = np.asarray(want != got).reshape(-1)
    if node.op in ("ArgMax", "ArgMin", "TopK"):
        return _chosen(node, x, want, got, near)
    if node.op in COMPARES:
        y = inputs[1]
        if not isinstance(y, np.ndarray):
            return False
        near = max(near, tolerance(x.dtype) * float(np.abs(y[np.isfinite(y)]).max(initial=0.0)))
        gap = np.abs(np.subtract(x, y, dtype=np.float64)).reshape(-1)
        return gap.size == wrong.size and bool((gap[wrong] <= near).all())
    if node.op == "Cast":
        return _cast(x.reshape(-1), want.reshape(-1), got.reshape(-1), near)
    return _quantized(node, x, inputs, want, got, near)


def _cast(x: Array, want: Array, got: Array, near: float) -> bool:
    if x.size != want.size:
        return False
    wrong = want != got
    at = x[wrong].astype(np.float64)
    if want.dtype.kind == "b":
        return bool((np.abs(at) <= near).all())
    apart = np.abs(want[wrong].astype(np.float64) - got[wrong].astype(np.float64))
    return bool(((apart == 1) & (np.abs(at - np.round(at)) <= near)).all())


def _chosen(node: Node, x: Array, want: Array, got: Array, near: float) -> bool:
    axis = int(node.attrs.get("axis", -1 if node.op == "TopK" else 0))
    shape = list(x.shape)
    count = want.size // max(1, x.size // max(1, shape[axis]))
    shape[axis] = count
    if int(np.prod(shape)) != want.size or min(got.min(initial=0), want.min(initial=0)) < 0:
        return False
    if max(got.max(initial=0), want.max(initial=0)) >= x.shape[axis]:
        return False
    a = np.take_along_axis(x, want.reshape(shape).astype(np.int64), axis)
    b = np.take_along_axis(x, got.reshape(shape).astype(np.int64), axis)
    return bool((np.abs(a.astype(np.float64) - b.astype(np.float64)) <= near).all())


def _quantized(node: Node, x: Array, inputs: list[Value], want: Array, got: Array, near: float) -> bool:
    scale = inputs[1]
    if not isinstance(scale, np.ndarray) or (scale.ndim and scale.size > 1) or want.shape != x.shape:
        return False
    step = float(scale.reshape(-1)[0])
    wrong = want != got
    steps = x[wrong].astype(np.float64) / step
    apart = np.abs(want[wrong].astype(np.float64) - got[wrong].astype(np.float64))
    off = np.abs(np.abs(steps - np.floor(steps)) - 0.5)
    return bool(((apart == 1) & (off <= near / abs(step))).all())


__all__ = ["edge", "flips", "moves", "on_edge"]
