"""Gaps between 8-bit nodes: a node that alone would not pay saves the conversions around it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from exec.ir import Graph
from quantize.choose import Choice, Chosen, too_little
from quantize.placement import FILL_INTENSITY, moves
from quantize.regions import reach_of

Shapes = Mapping[str, tuple[int, ...]]
ROUNDS = 4


def filled(graph: Graph, chosen: Chosen, shapes: Shapes, joining: Collection[str]) -> Chosen:
    """The choice, with the products of single elements (1×1) that leave less to convert when they are in 8 bits too.

    A node that makes one side of a residual sum stays float: its rounding would go through all layers behind.
    """
    taken = {c.node.name for c in chosen.taken}
    between = [
        c
        for c in chosen.possible
        if c.node.name not in taken and c.made is not None and c.fillable and not too_little(c, shapes, FILL_INTENSITY)
        if math.prod(c.layer.weight.shape[2:]) == 1 and not any(reader.op == "Add" for reader in c.made.outputs)
    ]
    for _ in range(ROUNDS):
        before = len(between)
        for choice in tuple(between):
            others = [c for c in between if c is not choice]
            more = converted(graph, [*chosen.taken, *between], shapes, joining, chosen.left)
            less = converted(graph, [*chosen.taken, *others], shapes, joining, chosen.left)
            if more >= less:
                between = others
        if len(between) == before:
            break
    names = taken | {c.node.name for c in between}
    return replace(
        chosen,
        taken=tuple(c for c in chosen.possible if c.node.name in names),
        findings=tuple(f for f in chosen.findings if f.code != "Q003" or f.node not in names),
    )


@dataclass(frozen=True, slots=True)
class Integers:
    """What runs on integers, and what that costs at its borders.

    nodes      ids of the nodes in 8 bits, those that only join or move too
    converted  elements that are quantized or dequantized between nodes
    """

    nodes: frozenset[int]
    converted: int


def converted(
    graph: Graph, chosen: Sequence[Choice], shapes: Shapes, joining: Collection[str], left: Collection[str]
) -> int:
    """Elements that are quantized or dequantized between nodes."""
    return integers_of(graph, chosen, shapes, joining, left).converted


def integers_of(
    graph: Graph, chosen: Sequence[Choice], shapes: Shapes, joining: Collection[str], left: Collection[str]
) -> Integers:
    """Nodes in 8 bits with this choice, and the conversions around them."""
    reach = reach_of(graph, chosen, joining, left)
    inside = {id(c.made) for c in chosen if c.made is not None} | {id(n.outputs[0]) for n in reach.joined}
    integer = {id(c.node) for c in chosen} | {id(n) for n in reach.joined}
    outputs = {id(t) for t in graph.outputs}
    for node in graph.nodes:
        if moves(node) and id(node.inputs[0]) in inside:
            integer.add(id(node))
            inside.update(id(t) for t in node.outputs)
    clamped = {id(c.node.outputs[0]) for c in chosen if c.made is not c.node.outputs[0]}
    total = 0
    tensors = {
        id(t): t for n in graph.nodes for t in (*n.inputs[:1], *n.outputs, *(n.inputs if n.op in joining else ()))
    }
    for key, tensor in tensors.items():
        if (not tensor.inputs and not tensor.outputs) or key in clamped:
            continue
        wants = [id(reader) in integer for reader in tensor.outputs]
        differs = (key in outputs or not all(wants)) if key in inside else any(wants)
        if differs:
            total += math.prod(shapes.get(tensor.name, ()))
    return Integers(frozenset(integer), total)
