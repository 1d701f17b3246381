"""What must hold after every patch, and for the whole model after all of them."""

from __future__ import annotations

from typing import Any

from exec.errors import RewriteError
from exec.ir import Constant, Graph, Model, Node
from exec.ir.opsets import schema_of
from passes.dims import differ
from passes.patch import Applied
from passes.region import Region
from passes.shapes import Fact
from passes.shapes.facts import knows_more, reads


def check_patch(done: Applied) -> None:
    """Raise `RewriteError` if an applied patch wrote an op its opset lacks, or changed the type or shape of a value that kept its name."""
    region, facts = done.region, done.workspace.facts
    for node in done.made:
        if region.alive(node):
            check_node(node, region)
            _check_reads(node, region)
    for tensor, before in done.before:
        after = facts.of(tensor)
        _same(tensor, before, after)
        facts.set(tensor, _better(before, after))
        if knows_more(after, before):
            facts.refresh([tensor])
    for old, new in (*done.patch.redirects, *done.patch.renames):
        before_fact = facts.peek(old)
        if before_fact is not None:
            _same(new, before_fact, facts.of(new))
            if knows_more(facts.of(new), before_fact):
                facts.refresh([new])


def check_node(node: Node, region: Region) -> None:
    """The op and each attribute exist in the opset of the graph, and the number of inputs fits."""
    if node.domain:
        return
    schema = schema_of(node.op, region.opset)
    if schema is None:
        raise RewriteError(
            f"{node.op} does not exist in opset {region.opset}",
            where=f"node {node.name}" if node.name else "a node without a name",
        )
    for name in node.attrs:
        if name not in schema.attributes:
            raise RewriteError(
                f"{node.op} has no attribute '{name}' in opset {region.opset}", where=f"node {node.name}"
            )
    if not schema.min_input <= len(node.inputs) <= schema.max_input:
        raise RewriteError(
            f"{node.op} takes {schema.min_input} to {schema.max_input} inputs in opset {region.opset}, not {len(node.inputs)}",
            where=f"node {node.name}",
        )


def _check_reads(node: Node, region: Region) -> None:
    """Whatever the node reads is made by a node, handed in, or a constant."""
    for tensor in node.inputs:
        if not tensor.name or tensor.inputs or isinstance(tensor, Constant):
            continue
        if not any(tensor is given for part in region.workspace.regions for given in part.graph.inputs):
            where = f"node {node.name or node.op}"
            raise RewriteError("a rewrite reads what nobody makes", where=where, why=f"value {tensor.name}")


def _same(tensor: Any, before: Fact, after: Fact) -> None:
    if before.dtype is not None and after.dtype is not None and before.dtype != after.dtype:
        raise RewriteError(
            "a rewrite changed a value's type", where=f"value {tensor.name}", why=f"{before.dtype} became {after.dtype}"
        )
    if before.shape is None or after.shape is None:
        return
    if len(before.shape) != len(after.shape) or any(
        differ(a, b) for a, b in zip(before.shape, after.shape, strict=True)
    ):
        raise RewriteError(
            "a rewrite changed a value's shape",
            where=f"value {tensor.name}",
            why=f"{list(before.shape)} became {list(after.shape)}",
        )


def _better(before: Fact, after: Fact) -> Fact:
    """The union of what two computations of one value know."""
    shape = after.shape if before.shape is None else before.shape
    if before.shape is not None and after.shape is not None:
        shape = tuple(b if isinstance(b, int) else a for a, b in zip(before.shape, after.shape, strict=True))
    return Fact(
        after.dtype or before.dtype,
        shape,
        after.value if after.value is not None else before.value,
        after.array if after.array is not None else before.array,
    )


def check_model(model: Model) -> None:
    """Raise `RewriteError` unless names are unique, nodes in order, links whole and every value has a maker."""
    _check_graph(model.graph, set(), {})
    for function in model.graph.functions:
        _check_graph(function, set(), {})


def _check_graph(graph: Graph, outer: set[Any], names: dict[str, Any]) -> None:
    visible = set(outer) | set(graph.inputs)
    names = dict(names)

    def name(tensor: Any) -> None:
        if tensor.name and names.setdefault(tensor.name, tensor) is not tensor:
            raise RewriteError("two values have one name", where=f"value {tensor.name}")

    for tensor in graph.inputs:
        name(tensor)
    for node in graph.nodes:
        where = f"node {node.name or node.op}"
        for tensor in reads(node):
            if isinstance(tensor, Constant):
                name(tensor)
            elif tensor.name and tensor not in visible:
                raise RewriteError("a value is read before it is made", where=where, why=f"value {tensor.name}")
        for tensor in node.inputs:
            if sum(n is node for n in tensor.outputs) != sum(t is tensor for t in node.inputs):
                raise RewriteError("the links of a value are broken", where=where, why=f"value {tensor.name}")
        for tensor in node.outputs:
            if tensor.name:
                name(tensor)
                if len(tensor.inputs) != 1 or tensor.inputs[0] is not node:
                    raise RewriteError("a value is made twice", where=where, why=f"value {tensor.name}")
        for value in node.attrs.values():
            if isinstance(value, Graph):
                _check_graph(value, visible, names)
        visible.update(node.outputs)
    for tensor in graph.outputs:
        if tensor not in visible and not isinstance(tensor, Constant):
            raise RewriteError("a graph output has no maker", where=f"value {tensor.name}")
