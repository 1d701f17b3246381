"""What lies between quantized nodes: operators that join 8-bit values, and those that only move them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from exec.ir import Constant, Graph, Node, Variable
from quantize.choose import Choice
from quantize.placement import moves


@dataclass(frozen=True, slots=True)
class Region:
    """The values of one choice of nodes.

    joined  nodes between quantized values that run in 8 bits too
    values  every value with a scale of its own, by name
    made    those of them that are quantized where they are made: all readers see the rounded value
    moved   values behind moving operators, in the graph's order
    scales  name of such a value → name of the value before the moving operators, whose scale it shares
    """

    joined: tuple[Node, ...]
    values: dict[str, Variable]
    made: dict[str, Variable]
    moved: tuple[Variable, ...]
    scales: dict[str, str]


def region_of(graph: Graph, chosen: Sequence[Choice], joining: Collection[str]) -> Region:
    """Find what else can be in 8 bits around `chosen`; the graph's nodes are in order.

    joining  operators that may join (see `placement.JOINED`)
    """
    made = {c.made.name: c.made for c in chosen if c.made is not None}
    sources = {id(c.source) for c in chosen}
    joined = _joined(graph, {id(t) for t in made.values()}, sources, joining)
    made.update({n.outputs[0].name: n.outputs[0] for n in joined})
    inside = {id(t) for t in made.values()}
    scales: dict[str, str] = {}
    moved: dict[int, Variable] = {}
    for tensor in (*(c.source for c in chosen), *(t for n in joined for t in n.inputs)):
        chain: list[Any] = []
        while id(tensor) not in inside and tensor.inputs and moves(tensor.inputs[0]):
            chain.append(tensor)
            tensor = tensor.inputs[0].inputs[0]
        if id(tensor) in inside:
            for behind in reversed(chain):
                scales[behind.name] = tensor.name
                moved.setdefault(id(behind), behind)
    values = {c.source.name: c.source for c in chosen if c.source.name not in scales}
    values.update({n: t for n, t in made.items() if n not in scales})
    return Region(tuple(joined), values, made, tuple(moved.values()), scales)


def _joined(graph: Graph, made: set[int], sources: set[int], joining: Collection[str]) -> list[Node]:
    """Nodes whose inputs all are in 8 bits, and whose output is wanted in 8 bits."""
    available, candidates = set(made), set()
    for node in graph.nodes:
        if moves(node) and id(node.inputs[0]) in available:
            available.update(id(t) for t in node.outputs)
        elif node.op in joining and not node.domain and all(id(t) in available for t in node.inputs):
            candidates.add(id(node))
            available.add(id(node.outputs[0]))
    wanted, kept = set(sources), []
    for node in reversed(graph.nodes):
        if not any(id(t) in wanted for t in node.outputs):
            continue
        if moves(node):
            wanted.add(id(node.inputs[0]))
        elif id(node) in candidates:
            kept.append(node)
            wanted.update(id(t) for t in node.inputs if not isinstance(t, Constant))
    return kept[::-1]
