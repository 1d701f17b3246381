"""Repairs before 8 bits: scales moved between layers, exactly, so that one scale a tensor fits all its channels.

equalize  between two layers with nothing but positively homogeneous operators between them (Nagel et al. 2019, arXiv 1906.04721)
smooth    from what a matrix product reads into its weight (Xiao et al. 2022, arXiv 2211.10438)
bias      what rounding a weight does to the mean of its layer, taken out of the bias (Nagel et al. 2019, §4.2); in `writing`
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.ir import Constant, Graph, Model, Names, Node, Variable, constant_value
from exec.wording import counted
from quantize.findings import Finding
from quantize.qdq import Writer

REPAIRS = ("equalize", "smooth", "bias")
HOMOGENEOUS = frozenset(
    ("Relu", "LeakyRelu", "PRelu", "MaxPool", "AveragePool", "GlobalAveragePool", "Identity", "Dropout")
)
"""f(s·x) = s·f(x) for s > 0, channel by channel."""

ROUNDS = 20
SETTLED = 1e-3
SMOOTHING = 0.5
MOST = 1e4  # a factor beyond it moves a nearly dead channel


@dataclass
class Pair:
    """Two layers that share channels.

    first, second   weights with the shared channels along the first axis, the rest flat
    """

    one: Node
    two: Node
    first: Array
    second: Array


def equalize(model: Model) -> list[Finding]:
    """Let every pair of layers in `model` have channels of the same reach on both sides; in place, the function stays the same."""
    graph = model.graph
    outputs = {id(t) for t in graph.outputs}
    pairs = [p for p in (_pair(n, outputs) for n in graph.nodes) if p is not None]
    if not pairs:
        return []
    scales: dict[int, Array] = {}
    for _ in range(ROUNDS):
        moved = 0.0
        for number, pair in enumerate(pairs):
            a, b = (
                _reach(pair.one, pair.first, scales, pairs, "out"),
                _reach(pair.two, pair.second, scales, pairs, "in"),
            )
            usable = (a > 0) & (b > 0)
            factor = np.ones_like(a)
            np.divide(np.sqrt(a * b), a, out=factor, where=usable)
            factor = np.clip(factor, 1 / MOST, MOST)
            scales[number] = scales.get(number, np.ones_like(a)) * factor
            moved = max(moved, float(np.abs(np.log(factor)).max(initial=0.0)))
        if moved < SETTLED:
            break
    _write(graph, pairs, scales)
    most = max(float(max(s.max(), 1 / s.min())) for s in scales.values())
    text = f"scales moved between {len(pairs)} pairs of layers, by up to {most:.3g}; the function is the same"
    return [Finding("Q051", "note", "", text)]


def _pair(node: Node, outputs: set[int]) -> Pair | None:
    first = _out_rows(node)
    if first is None or (node.op == "Gemm" and len(node.inputs) > 2 and constant_value(node.inputs[2]) is None):
        return None
    value: Any = node.outputs[0]
    while True:
        if id(value) in outputs or len(value.outputs) != 1:
            return None
        reader: Node = value.outputs[0]
        if reader.domain or reader.inputs[0] is not value:
            return None
        if reader.op not in HOMOGENEOUS:
            break
        value = reader.outputs[0]
    second = _in_rows(reader)
    if second is None or len(second) != len(first):
        return None
    if node.op == "Conv" and reader.op != "Conv":
        return None
    return Pair(node, reader, first, second)


def _weight(node: Node) -> Array | None:
    if node.domain or node.op not in ("Conv", "Gemm", "MatMul") or len(node.inputs) < 2:
        return None
    if not isinstance(node.inputs[1], Constant) or len(node.inputs[1].outputs) != 1:
        return None
    value = constant_value(node.inputs[1])
    fits = value is not None and value.dtype == np.float32 and value.ndim >= 2 and bool(np.isfinite(value).all())
    if not fits or (node.op == "MatMul" and value is not None and value.ndim != 2):
        return None
    bias = (
        node.inputs[2]
        if len(node.inputs) > 2 and (node.inputs[2].name or isinstance(node.inputs[2], Constant))
        else None
    )
    if bias is not None and not isinstance(bias, Constant):
        return None
    return value


def _out_rows(node: Node) -> Array | None:
    value = _weight(node)
    if value is None:
        return None
    axis = 0 if node.op == "Conv" or (node.op == "Gemm" and node.attrs.get("transB", 0)) else 1
    if node.op == "Gemm" and len(node.inputs) > 2:
        bias = constant_value(node.inputs[2])
        if bias is None or bias.size != value.shape[axis]:
            return None
    return np.moveaxis(value, axis, 0).reshape(value.shape[axis], -1)


def _in_rows(node: Node) -> Array | None:
    value = _weight(node)
    if value is None or node.attrs.get("transA", 0):
        return None
    group = int(node.attrs.get("group", 1)) if node.op == "Conv" else 1
    if group > 1:
        return value.reshape(len(value), -1) if value.shape[1] == 1 and group == len(value) else None
    axis = 1 if node.op == "Conv" or (node.op == "Gemm" and node.attrs.get("transB", 0)) else 0
    return np.moveaxis(value, axis, 0).reshape(value.shape[axis], -1)


def _reach(node: Node, rows: Array, scales: Mapping[int, Array], pairs: Sequence[Pair], side: str) -> Array:
    """Largest magnitude a channel of a weight has by now: its own factor, and those of the pair on its other side."""
    own = np.ones(len(rows))
    other: Array | None = None
    for number, pair in enumerate(pairs):
        if number not in scales:
            continue
        if side == "out" and pair.one is node:
            own = scales[number]
        if side == "in" and pair.two is node:
            own = 1 / scales[number]
        if side == "out" and pair.two is node:
            other = 1 / scales[number]
        if side == "in" and pair.one is node:
            other = scales[number]
    reach: Array = np.abs(rows).max(1)
    if other is not None and _is_depthwise(node):
        reach = reach * other
    elif other is not None:
        reach = (np.abs(rows).reshape(len(rows), len(other), -1).max(2) * other).max(1)
    found: Array = reach * own
    return found


def _is_depthwise(node: Node) -> bool:
    return node.op == "Conv" and int(node.attrs.get("group", 1)) > 1


def _write(graph: Graph, pairs: Sequence[Pair], scales: Mapping[int, Array]) -> None:
    names = Names(graph)
    for number, pair in enumerate(pairs):
        factor = scales[number].astype(np.float64)
        _scale(pair.one, 1, _axis_out(pair.one), factor, names)
        if len(pair.one.inputs) > 2:
            _scale(pair.one, 2, -1, factor, names)
        _scale(pair.two, 1, _axis_in(pair.two), 1 / factor, names)


def _axis_out(node: Node) -> int:
    return 0 if node.op == "Conv" or (node.op == "Gemm" and node.attrs.get("transB", 0)) else 1


def _axis_in(node: Node) -> int:
    if node.op == "Conv":
        return 0 if _is_depthwise(node) else 1
    return 1 if node.op == "Gemm" and node.attrs.get("transB", 0) else 0


def _scale(node: Node, place: int, axis: int, factor: Array, names: Names) -> None:
    old = node.inputs[place]
    values = constant_value(old)
    assert values is not None
    shape = [1] * values.ndim
    shape[axis] = -1
    node.inputs[place] = Constant(
        names.unique(f"{old.name}_scaled"), (values * factor.reshape(shape)).astype(np.float32)
    )


def smooth(model: Model, reaches: Mapping[str, Array], nodes: Sequence[str]) -> list[Finding]:
    """Divide what the named MatMul and Gemm nodes read by a factor a channel, and multiply their weights by it; in place.

    reaches  largest magnitude a channel of each value read
    The factor goes into the LayerNormalization before, where there is one that nothing else reads; else into a Mul.
    """
    graph = model.graph
    outputs = {id(t) for t in graph.outputs}
    wanted = {n.name: n for n in graph.nodes if n.name in set(nodes) and n.op in ("MatMul", "Gemm")}
    groups: dict[int, list[Node]] = {}
    for node in wanted.values():
        rows = _in_rows(node)
        if rows is not None and node.inputs[0].name in reaches and len(reaches[node.inputs[0].name]) == len(rows):
            groups.setdefault(id(node.inputs[0]), []).append(node)
    names, writer = Names(graph), Writer(graph)
    count = folded = 0
    for readers in groups.values():
        source: Variable = readers[0].inputs[0]
        top = reaches[source.name].astype(np.float64)
        weight = np.max([np.abs(r).max(1) for r in (_in_rows(n) for n in readers) if r is not None], axis=0)
        usable = (top > 0) & (weight > 0)
        factor = np.ones_like(top)
        factor[usable] = top[usable] ** SMOOTHING / weight[usable] ** (1 - SMOOTHING)
        factor[usable] /= math.exp(float(np.log(factor[usable]).mean())) if usable.any() else 1.0
        factor = np.clip(factor, 1 / MOST, MOST)
        before = source.inputs[0] if source.inputs else None
        alone = {id(n) for n in source.outputs} == {id(n) for n in readers} and id(source) not in outputs
        if before is not None and alone and _normalizes(before, len(factor)):
            for place in range(1, len(before.inputs)):
                _scale(before, place, -1, 1 / factor, names)
            folded += 1
        else:
            divided = Variable(writer.name(f"{source.name}_smooth"), source.dtype, source.shape)
            inverse = writer.constant(f"{source.name}_smoothing", (1 / factor).astype(np.float32))
            writer.before[id(readers[0])].append(
                Node("Mul", writer.name(f"{source.name}_smooth_Mul"), {}, [source, inverse], [divided])
            )
            for node in readers:
                node.inputs[0] = divided
        for node in readers:
            _scale(node, 1, _axis_in(node), factor, names)
        count += 1
    writer.apply()
    return (
        [
            Finding(
                "Q051", "note", "", f"{counted(count, 'value')} smoothed, {folded} of them inside a LayerNormalization"
            )
        ]
        if count
        else []
    )


def _normalizes(node: Node, channels: int) -> bool:
    if node.op != "LayerNormalization" or node.domain or len(node.inputs) < 2:
        return False
    parts = [constant_value(t) for t in node.inputs[1:]]
    return all(isinstance(t, Constant) and len(t.outputs) == 1 for t in node.inputs[1:]) and all(
        p is not None and p.shape == (channels,) for p in parts
    )
