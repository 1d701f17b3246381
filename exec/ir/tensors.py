"""Every TensorProto inside a message, wherever one can sit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


def in_model(proto: Any) -> Iterator[tuple[Any, bool]]:
    """The tensors of a ModelProto, in order; and whether each is a (sub)graph's dense initializer."""
    if proto.HasField("graph"):
        yield from in_graph(proto.graph)
    for function in proto.functions:
        yield from in_nodes(function.node)
        yield from in_attributes(function.attribute_proto)
    yield from in_training(proto)


def in_training(proto: Any) -> Iterator[tuple[Any, bool]]:
    """The tensors of a ModelProto's training information."""
    for info in proto.training_info:
        for graph in (info.initialization, info.algorithm):
            for tensor, _ in in_graph(graph):
                yield tensor, False


def in_graph(graph: Any) -> Iterator[tuple[Any, bool]]:
    """The tensors of a GraphProto."""
    for tensor in graph.initializer:
        yield tensor, True
    for sparse in graph.sparse_initializer:
        yield sparse.values, False
        yield sparse.indices, False
    yield from in_nodes(graph.node)


def in_nodes(nodes: Iterable[Any]) -> Iterator[tuple[Any, bool]]:
    """The tensors of NodeProtos."""
    for node in nodes:
        if node.attribute:
            yield from in_attributes(node.attribute)


def in_attributes(attributes: Iterable[Any]) -> Iterator[tuple[Any, bool]]:
    """The tensors of AttributeProtos."""
    for item in attributes:
        if item.HasField("t"):
            yield item.t, False
        if item.HasField("g"):
            yield from in_graph(item.g)
        if item.HasField("sparse_tensor"):
            yield item.sparse_tensor.values, False
            yield item.sparse_tensor.indices, False
        for tensor in item.tensors:
            yield tensor, False
        for graph in item.graphs:
            yield from in_graph(graph)
        for sparse in item.sparse_tensors:
            yield sparse.values, False
            yield sparse.indices, False
