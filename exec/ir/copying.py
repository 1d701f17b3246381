"""A copy of a graph in one pass: new nodes and tensors, everything attached remapped, weights and protos shared."""

from __future__ import annotations

from typing import Any

from exec.ir.elements import links
from exec.ir.graph import Function, Graph
from exec.ir.names import copy_of
from exec.ir.node import Node
from exec.ir.records import Records
from exec.ir.tensor import Constant, Variable

_new, _set = object.__new__, object.__setattr__
_NODE_EXTRAS = ("_o", "_doc", "overload")


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
        if isinstance(value, Graph):
            return self.graph(value)
        if isinstance(value, Constant):
            return _twin(value)
        return value

    def graph(self, graph: Any) -> Any:
        known = self.graphs.get(id(graph))
        if known is not None:
            return known
        twin = _new(type(graph))
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
        if graph._metadata is not None:
            _set(twin, "_metadata", dict(graph._metadata))
        if isinstance(graph, Function):
            _set(twin, "attrs", {name: self.value(value) for name, value in graph.attrs.items()})
        _set(twin, "_records", None if graph._records is None else self.records(graph._records))
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
    twin = _new(
        Constant if isinstance(tensor, Constant) else Variable if isinstance(tensor, Variable) else type(tensor)
    )
    _set(twin, "name", tensor.name)
    _set(twin, "inputs", links(twin, "outputs"))
    _set(twin, "outputs", links(twin, "inputs"))
    if isinstance(tensor, Constant):
        _set(twin, "_values", tensor._values)
        _set(twin, "data_location", tensor.data_location)
        _set(twin, "_export_dtype", tensor._export_dtype)
        if tensor._src is not None:
            _set(twin, "_src", tensor._src)
    else:
        _set(twin, "dtype", tensor.dtype)
        _set(twin, "shape", None if tensor.shape is None else list(tensor.shape))
        _set(twin, "type", tensor.type)
        if tensor.default is not None:
            _set(twin, "default", tensor.default)
    if tensor._t is not None:
        _set(twin, "_t", tensor._t)
    if tensor._doc is not None:
        _set(twin, "_doc", tensor._doc)
    if tensor._metadata is not None:
        _set(twin, "_metadata", dict(tensor._metadata))
    return twin
