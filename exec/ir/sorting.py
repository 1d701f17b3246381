"""A stable topological order in linear time."""

from __future__ import annotations

import heapq
from typing import Any

from exec.errors import InvalidModel
from exec.ir.collector import no_gc
from exec.ir.graph import Graph
from exec.ir.node import Node


def toposort(graph: Graph) -> None:
    """Put every node behind what it reads, keeping the file's order where it is free; subgraphs too.

    A graph that is in order already keeps its list. What a node's subgraphs capture counts as read by the node.
    Raises `InvalidModel` for a cycle.
    """
    pending = [graph]
    with no_gc():
        while pending:
            current = pending.pop()
            _sort(current)
            for node in current.nodes:
                if node.attrs:
                    pending += subgraphs_of(node)


def subgraphs_of(node: Node) -> list[Graph]:
    """The graphs in a node's attributes."""
    found: list[Graph] = []
    for value in node.attrs.values():
        if isinstance(value, Graph):
            found.append(value)
        elif isinstance(value, list):
            found += [item for item in value if isinstance(item, Graph)]
    return found


def reads(node: Node) -> list[Any]:
    """The tensors a node reads, itself or in its subgraphs."""
    inner = subgraphs_of(node)
    if not inner:
        return list(node.inputs)
    found = list(node.inputs)
    while inner:
        graph = inner.pop()
        found += graph.outputs
        for item in graph.nodes:
            found += item.inputs
            inner += subgraphs_of(item)
    return found


def find_cycle(graph: Graph) -> Node | None:
    """A node that needs its own output, or None; the graph itself, not the graphs inside it."""
    order, stuck = _order(graph)
    return graph.nodes[stuck] if order is not None and stuck >= 0 else None


def _sort(graph: Graph) -> None:
    order, stuck = _order(graph)
    if order is None:
        return
    nodes = graph.nodes
    if stuck >= 0:
        raise InvalidModel(
            "the graph has a cycle",
            f"node {nodes[stuck].name or nodes[stuck].op!r} in graph {graph.name!r}",
            "it needs its own output",
        )
    nodes[:] = [nodes[at] for at in order]


def _order(graph: Graph) -> tuple[list[int] | None, int]:
    """New places of the nodes, None if they are in order; and a node on a cycle, -1 if there is none."""
    nodes = graph.nodes
    producer: dict[int, int] = {}
    for at, node in enumerate(nodes):
        for tensor in node.outputs:
            producer[id(tensor)] = at
    if _is_sorted(nodes, producer):
        return None, -1
    sources = [{producer[id(tensor)] for tensor in reads(node) if id(tensor) in producer} for node in nodes]
    missing = [len(needed) for needed in sources]
    readers: list[list[int]] = [[] for _ in nodes]
    for at, needed in enumerate(sources):
        for source in needed:
            readers[source].append(at)
    ready = [at for at, count in enumerate(missing) if count == 0]
    order: list[int] = []
    while ready:
        at = heapq.heappop(ready)
        order.append(at)
        for reader in readers[at]:
            missing[reader] -= 1
            if missing[reader] == 0:
                heapq.heappush(ready, reader)
    if len(order) == len(nodes):
        return order, -1
    return order, _on_cycle(sources, missing)


def _is_sorted(nodes: list[Node], producer: dict[int, int]) -> bool:
    find = producer.get
    for at, node in enumerate(nodes):
        for tensor in reads(node) if node.attrs else node.inputs:
            if find(id(tensor), -1) >= at:
                return False
    return True


def _on_cycle(sources: list[set[int]], missing: list[int]) -> int:
    """A node that is on a cycle, not only behind one: walk back from a stuck node until one comes again."""
    at = next(at for at, count in enumerate(missing) if count > 0)
    seen: set[int] = set()
    while at not in seen:
        seen.add(at)
        at = next(source for source in sources[at] if missing[source] > 0)
    return at
