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


def region_of(graph: Graph, chosen: Sequence[Choice], joining: Collection[str], left: Collection[str] = ()) -> Region:
    """Find what else can be in 8 bits around `chosen`; the graph's nodes are in order.

    joining  operators that may join (see `placement.JOINED`)
    left     names of nodes that shall not
    """
    made = {c.made.name: c.made for c in chosen if c.made is not None}
    joined = reach_of(graph, chosen, joining, left).joined
    made.update({n.outputs[0].name: n.outputs[0] for n in joined})
    inside = {id(t) for t in made.values()}
    outputs = {id(t) for t in graph.outputs}
    scales: dict[str, str] = {}
    moved: dict[int, Variable] = {}
    for tensor in (*(c.source for c in chosen), *(t for n in joined for t in n.inputs)):
        root, chain = root_of(tensor, inside)
        if id(root) not in inside and _spreads(root, chain, outputs):
            made[root.name] = root
            inside.add(id(root))
        if id(root) in inside:
            for behind in chain:
                scales[behind.name] = root.name
                moved.setdefault(id(behind), behind)
    values = {c.source.name: c.source for c in chosen if c.source.name not in scales}
    values.update({n: t for n, t in made.items() if n not in scales})
    return Region(tuple(joined), values, made, tuple(moved.values()), scales)


def root_of(tensor: Any, inside: Collection[int]) -> tuple[Any, list[Any]]:
    """The value before all moving operators, and those behind it in order; a Concat of pieces of one value moves it too.

    inside  ids of values at which to stop
    """
    chain: list[Any] = []
    while id(tensor) not in inside and tensor.inputs:
        node = tensor.inputs[0]
        if moves(node):
            chain.append(tensor)
            tensor = node.inputs[0]
            continue
        if node.op != "Concat" or node.domain or any(isinstance(t, Constant) for t in node.inputs):
            break
        parts = [root_of(t, inside) for t in node.inputs]
        if len({id(root) for root, _ in parts}) != 1 or not all(steps for _, steps in parts):
            break
        chain += [tensor, *reversed([t for _, steps in parts for t in steps])]
        tensor = parts[0][0]
    return tensor, list({id(t): t for t in reversed(chain)}.values())


def _spreads(root: Any, chain: Sequence[Any], outputs: Collection[int]) -> bool:
    """Whether a float value is copied on the way and nothing else reads it: it is better quantized once, before."""
    if not root.inputs or id(root) in outputs or not any(t.inputs[0].op == "Concat" for t in chain):
        return False
    return {id(n) for n in root.outputs} <= {id(t.inputs[0]) for t in chain}


@dataclass(frozen=True, slots=True)
class Reach:
    """How far 8 bits go from the chosen nodes.

    joined     nodes whose inputs all are in 8 bits, and whose output is wanted in 8 bits
    available  ids of values that are in 8 bits, or could be
    wanted     ids of values that are read in 8 bits
    """

    joined: list[Node]
    available: set[int]
    wanted: set[int]


def reach_of(graph: Graph, chosen: Sequence[Choice], joining: Collection[str], left: Collection[str]) -> Reach:
    """Forward from what the chosen nodes make, and back from what they read; the graph's nodes are in order."""
    available, candidates = {id(c.made) for c in chosen if c.made is not None}, set()
    for node in graph.nodes:
        if moves(node) and id(node.inputs[0]) in available:
            available.update(id(t) for t in node.outputs)
        elif (
            node.op in joining
            and not node.domain
            and node.name not in left
            and all(id(t) in available for t in node.inputs)
        ):
            candidates.add(id(node))
            available.add(id(node.outputs[0]))
    wanted, kept = {id(c.source) for c in chosen}, []
    for node in reversed(graph.nodes):
        if not any(id(t) in wanted for t in node.outputs):
            continue
        if moves(node):
            wanted.add(id(node.inputs[0]))
        elif id(node) in candidates:
            kept.append(node)
            wanted.update(id(t) for t in node.inputs if not isinstance(t, Constant))
    return Reach(kept[::-1], available, wanted)
