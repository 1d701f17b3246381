"""Linear-time edits: what graphsurgeon does one list search at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from exec.arrays import Array
from exec.ir.graph import Function, Graph
from exec.ir.node import Node
from exec.ir.sorting import reads, subgraphs_of
from exec.ir.tensor import Constant
from exec.ir.weights import Weight


def walk(graph: Graph) -> Iterator[Graph]:
    """The graph and every graph inside it, outer before inner; functions are not part of it."""
    pending = [graph]
    while pending:
        current = pending.pop()
        yield current
        inner: list[Graph] = []
        for node in current.nodes:
            if node.attrs:
                inner += subgraphs_of(node)
        pending += reversed(inner)


def is_foldable(tensor: Any) -> bool:
    """Whether a tensor's value is fixed: a Constant, or what a Constant node without references makes."""
    return isinstance(tensor, Constant) or _constant_node(tensor) is not None


def constant_value(tensor: Any) -> Array | None:
    """The value of a foldable tensor, read-only; None for every other. Never an overridable initializer."""
    if isinstance(tensor, Constant):
        return tensor.values
    node = _constant_node(tensor)
    return None if node is None else _node_value(node)


def _constant_node(tensor: Any) -> Node | None:
    producers = tensor.inputs
    if len(producers) != 1:
        return None
    node: Node = producers[0]
    if node.op != "Constant" or node.domain or len(node.attrs) != 1:
        return None
    name, value = next(iter(node.attrs.items()))
    if name == "value":
        return node if isinstance(value, Constant) or hasattr(value, "__array__") or isinstance(value, Weight) else None
    known = {
        "value_float": float | int,
        "value_int": int,
        "value_string": str | bytes,
        "value_floats": list,
        "value_ints": list,
        "value_strings": list,
    }
    return node if name in known and isinstance(value, known[name]) else None


def _node_value(node: Node) -> Array:
    import numpy as np

    name, value = next(iter(node.attrs.items()))
    if name == "value":
        array = (
            value.values
            if isinstance(value, Constant)
            else value.load()
            if isinstance(value, Weight)
            else np.asarray(value)
        )
    elif name in ("value_float", "value_floats"):
        array = np.array(value, np.float32)
    elif name in ("value_int", "value_ints"):
        array = np.array(value, np.int64)
    else:
        array = np.array(value, object)
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def replace_all_uses(graph: Graph, old: Any, new: Any) -> None:
    """Let everything that reads `old` read `new`: nodes, nodes in subgraphs, and outputs of subgraphs.

    The graph's own outputs keep their tensors, because their names are the model's interface. So does a subgraph's output whose
    node is in the subgraph, if `new` comes from elsewhere: an output has to be made where it is one.
    """
    if old is new:
        return
    readers = list(old.outputs)
    list.clear(old.outputs)
    for node in {id(node): node for node in readers}.values():
        inputs = node.inputs
        for at, tensor in enumerate(inputs):
            if tensor is old:
                list.__setitem__(inputs, at, new)
                list.append(new.outputs, node)
    for inner in walk(graph):
        if inner is not graph and any(tensor is old for tensor in inner.outputs):
            made_here = {id(tensor) for node in inner.nodes for tensor in node.outputs}
            if id(new) in made_here or id(old) not in made_here:
                inner.outputs = [new if tensor is old else tensor for tensor in inner.outputs]


def remove_nodes(graph: Graph, nodes: Iterable[Node]) -> None:
    """Take nodes out of the graph and cut their links, all in one pass."""
    gone = {id(node): node for node in nodes}
    if not gone:
        return
    graph.nodes = [node for node in graph.nodes if id(node) not in gone]
    touched: dict[int, tuple[Any, bool]] = {}
    for node in gone.values():
        for tensor in node.inputs:
            touched[id(tensor)] = (tensor, True)
        list.clear(node.inputs)
        for tensor in node.outputs:
            touched[-id(tensor)] = (tensor, False)
        list.clear(node.outputs)
    for tensor, is_read in touched.values():
        side = tensor.outputs if is_read else tensor.inputs
        side_kept = [node for node in side if id(node) not in gone]
        list.clear(side)
        list.extend(side, side_kept)


def prune(graph: Graph, candidates: Iterable[Node] | None = None) -> list[Node]:
    """Remove nodes nothing reads, and then those that only they read; returns what went.

    candidates  where to start: the nodes an edit may have left dead. None looks at every node, also at ones the author left dead.
    """
    outputs = {id(tensor) for inner in walk(graph) for tensor in inner.outputs}
    if isinstance(graph, Function):
        outputs.update(id(tensor) for tensor in graph.outputs)
    members = {id(node) for node in graph.nodes}
    pending = list(graph.nodes if candidates is None else candidates)
    readers: dict[int, int] = {}
    dead: dict[int, Node] = {}
    while pending:
        node = pending.pop()
        if id(node) in dead or id(node) not in members:
            continue
        if any(id(t) in outputs or readers.get(id(t), len(t.outputs)) for t in node.outputs if t.name):
            continue
        dead[id(node)] = node
        for tensor in reads(node) if node.attrs else node.inputs:
            readers[id(tensor)] = readers.get(id(tensor), len(tensor.outputs)) - 1
            pending += tensor.inputs
    gone = list(dead.values())
    for node in gone:
        for inner in subgraphs_of(node):
            for part in walk(inner):
                remove_nodes(part, list(part.nodes))
    remove_nodes(graph, gone)
    return gone
