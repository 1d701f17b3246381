"""Names and uses while a graph is exported: one object per name and scope, and which constants a graph needs."""

from __future__ import annotations

from typing import Any

import onnx_graphsurgeon as gs

from exec.errors import InvalidModel


class Level:
    """The names of one graph being exported, inside those of the graphs around it.

    alive  ids of all tensors the graph's nodes and lists mention
    """

    __slots__ = ("alive", "graph", "names", "outer")

    def __init__(self, graph: gs.Graph, outer: Level | None) -> None:
        self.graph = graph
        self.outer = outer
        self.names: dict[str, Any] = {}
        self.alive: set[int] = set()

    def declare(self, tensor: Any) -> None:
        """Give a name to a tensor of this graph."""
        if tensor.name and self.names.setdefault(tensor.name, tensor) is not tensor:
            raise InvalidModel(
                f"two values are called {tensor.name!r}",
                f"graph {self.graph.name!r}",
                hint="`unique_name(graph, base)` gives a free name",
            )

    def declare_graph(self) -> None:
        """Give names to the graph's inputs and to the outputs of its nodes."""
        alive, names = self.alive, self.names
        for tensor in self.graph.inputs:
            alive.add(id(tensor))
            self.declare(tensor)
        for tensor in self.graph.outputs:
            alive.add(id(tensor))
        for node in self.graph.nodes:
            for tensor in node.outputs:
                name = tensor.name
                if name:
                    alive.add(id(tensor))
                    if names.setdefault(name, tensor) is not tensor:
                        self.declare(tensor)

    def names_of(self, node: gs.Node) -> tuple[list[str], list[str]]:
        """The node's input and output names; raises where a name would mean another tensor to a reader of the file."""
        inputs: list[str] = []
        names, alive = self.names, self.alive
        for tensor in node.inputs:
            name = tensor.name
            inputs.append(name)
            if name:
                alive.add(id(tensor))
                if names.get(name) is not tensor:
                    self._check(tensor, node)
        return inputs, [tensor.name for tensor in node.outputs]

    def _check(self, tensor: Any, node: gs.Node) -> None:
        level: Level | None = self
        while level is not None:
            found = level.names.get(tensor.name)
            if found is tensor:
                level.alive.add(id(tensor))
                return
            if found is not None:
                raise InvalidModel(
                    f"node {node.name or node.op!r} reads a value called {tensor.name!r}, but there the name means another value",
                    f"graph {self.graph.name!r}",
                    hint="rename one of them with `unique_name(graph, base)`",
                )
            level = level.outer
        self.names[tensor.name] = tensor


def uses_of(
    graph: gs.Graph, memo: dict[int, dict[int, gs.Constant]]
) -> tuple[dict[int, gs.Constant], list[dict[int, gs.Constant]]]:
    """The constants a graph's own nodes and outputs read, by id in order of use; and those of each of its direct subgraphs."""
    direct: dict[int, gs.Constant] = {}
    inner: list[dict[int, gs.Constant]] = []
    for node in graph.nodes:
        for tensor in node.inputs:
            if isinstance(tensor, gs.Constant):
                direct[id(tensor)] = tensor
        for value in node.attrs.values():
            for subgraph in (value,) if isinstance(value, gs.Graph) else value if isinstance(value, list) else ():
                inner += [all_uses(subgraph, memo)] if isinstance(subgraph, gs.Graph) else []
    for tensor in graph.outputs:
        if isinstance(tensor, gs.Constant):
            direct[id(tensor)] = tensor
    return direct, inner


def all_uses(graph: gs.Graph, memo: dict[int, dict[int, gs.Constant]]) -> dict[int, gs.Constant]:
    """Every constant read in a graph or in a graph inside it."""
    known = memo.get(id(graph))
    if known is None:
        direct, inner = uses_of(graph, memo)
        known = dict(direct)
        for part in inner:
            known.update(part)
        memo[id(graph)] = known
    return known
