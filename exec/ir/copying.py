"""A copy of a graph in one pass: new nodes and tensors, everything attached remapped, weights and protos shared."""

from __future__ import annotations

from typing import Any

import onnx_graphsurgeon as gs

from exec.ir.elements import links, make_constant, make_variable
from exec.ir.graph import Function, Graph
from exec.ir.names import copy_of
from exec.ir.node import Node
from exec.ir.records import Records

_new, _set = object.__new__, object.__setattr__
_NODE_EXTRAS = ("_o", "_doc", "overload")
_TENSOR_EXTRAS = ("_t", "_doc", "default")


class _Copier:
    """Identity maps of one copy. Records hold tensors as objects, so they are remapped like everything else."""

    def __init__(self) -> None:
        self.tensors: dict[int, Any] = {}
        self.graphs: dict[int, Any] = {}
        self.functions: list[Function] = []

    def tensor(self, tensor: Any) -> Any:
        """The twin of a tensor, made at first sight."""
        if tensor is None:
            return None
        twin = self.tensors.get(id(tensor))
        if twin is None:
            twin = self.tensors[id(tensor)] = _twin(tensor)
        return twin

    def node(self, node: Any) -> Node:
        twin: Node = _new(Node)
        inputs, outputs = links(twin, "outputs"), links(twin, "inputs")
        append, known = list.append, self.tensors
        _set(twin, "op", node.op)
        _set(twin, "name", node.name)
        _set(twin, "domain", node.domain or "")
        _set(twin, "inputs", inputs)
        _set(twin, "outputs", outputs)
        for name in _NODE_EXTRAS:
            value = getattr(node, name, None)
            if value is not None and value != "":
                _set(twin, name, value)
        if getattr(node, "_metadata", None) is not None:
            _set(twin, "_metadata", dict(node._metadata))
        for tensor in node.inputs:
            copied = known.get(id(tensor)) or self.tensor(tensor)
            append(inputs, copied)
            append(copied.outputs, twin)
        for tensor in node.outputs:
            copied = known.get(id(tensor)) or self.tensor(tensor)
            append(outputs, copied)
            append(copied.inputs, twin)
        _set(twin, "attrs", {name: self.value(value) for name, value in node.attrs.items()} if node.attrs else {})
        return twin

    def value(self, value: Any) -> Any:
        """An attribute's value: lists, graphs and constants are copied, the rest is immutable."""
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, gs.Graph):
            return self.graph(value)
        if isinstance(value, gs.Constant):
            return _twin(value)
        return value

    def graph(self, graph: Any) -> Any:
        known = self.graphs.get(id(graph))
        if known is not None:
            return known
        twin = _new(Function if isinstance(graph, gs.Function) else Graph)
        self.graphs[id(graph)] = twin
        for name, value in graph.__dict__.items():
            if name not in (
                "nodes",
                "inputs",
                "outputs",
                "_records",
                "_functions",
                "import_domains",
                "_metadata",
                "attrs",
            ):
                _set(twin, name, value)
        _set(twin, "inputs", [self.tensor(tensor) for tensor in graph.inputs])
        _set(twin, "nodes", [self.node(node) for node in graph.nodes])
        _set(twin, "outputs", [self.tensor(tensor) for tensor in graph.outputs])
        _set(twin, "_functions", self.functions)
        _set(
            twin,
            "import_domains",
            None if graph.import_domains is None else [copy_of(entry) for entry in graph.import_domains],
        )
        metadata, records = graph.__dict__.get("_metadata"), graph.__dict__.get("_records")
        if metadata is not None:
            _set(twin, "_metadata", dict(metadata))
        if isinstance(graph, Function):
            _set(twin, "attrs", {name: self.value(value) for name, value in graph.attrs.items()})
        _set(twin, "_records", None if records is None else self.records(records))
        return twin

    def records(self, records: Records) -> Records:
        tensor = self.tensor
        return Records(
            [entry._replace(tensor=tensor(entry.tensor)) for entry in records.inputs],
            [entry._replace(tensor=tensor(entry.tensor)) for entry in records.outputs],
            [entry._replace(tensor=tensor(entry.tensor)) for entry in records.value_info],
            [entry._replace(tensor=tensor(entry.tensor)) for entry in records.initializers],
            [entry._replace(tensor=tensor(entry.tensor)) for entry in records.sparse],
            [
                entry._replace(tensor=tensor(entry.tensor), parameters=tuple(map(tensor, entry.parameters)))
                for entry in records.annotations
            ],
        )


def copy_graph(graph: Graph) -> Graph:
    """An independent copy of a model's main graph and its functions; of a subgraph: captured values are copied with it."""
    copier = _Copier()
    copier.functions.extend(copier.graph(function) for function in graph.functions)
    copied: Graph = copier.graph(graph)
    return copied


def copy_function(function: Function) -> Function:
    """An independent copy of one function."""
    copied: Function = _Copier().graph(function)
    return copied


def _twin(tensor: Any) -> Any:
    """A tensor without links; graphsurgeon's own become ours."""
    is_constant = isinstance(tensor, gs.Constant)
    twin = make_constant(tensor.name, tensor._values) if is_constant else make_variable(tensor.name)
    if is_constant:
        _set(twin, "_src", getattr(tensor, "_src", None))
    else:
        _set(twin, "dtype", tensor.dtype)
        _set(twin, "shape", None if tensor.shape is None else list(tensor.shape))
        _set(twin, "type", tensor.type)
    for name in _TENSOR_EXTRAS:
        value = getattr(tensor, name, None)
        if value is not None:
            _set(twin, name, value)
    if getattr(tensor, "_metadata", None) is not None:
        _set(twin, "_metadata", dict(tensor._metadata))
    return twin
