"""Puts the nodes of one graph into another: a branch, a loop's body, a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx_graphsurgeon as gs

from exec.ir import Constant, Graph, Node, Variable
from passes.patch import Body, Patch


class Inliner:
    """Adds copies of a body's nodes to a patch.

    values  from the body's values to those of the surrounding graph
    attrs   of a body node; resolves references to a function's attributes
    prefix  put before the names of values that need a new one
    """

    def __init__(
        self,
        patch: Patch,
        values: Mapping[Any, Any],
        *,
        attrs: Callable[[Node], dict[str, Any]] | None = None,
        prefix: str = "",
        once: bool = True,
    ) -> None:
        self.patch, self.values, self.attrs, self.prefix, self.once = patch, dict(values), attrs, prefix, once
        self.workspace = patch.region.workspace

    def add(self, body: Graph, outs: Sequence[Any]) -> list[Any]:
        """Add the nodes of `body`; its outputs become `outs` (None for fresh values). Returns what the outputs are."""
        made = {t for node in body.nodes for t in node.outputs}
        for tensor, out in zip(body.outputs, outs, strict=True):
            if out is not None and tensor in made and tensor not in self.values:
                self.values[tensor] = out
        for node in body.nodes:
            self._node(node)
        return [self.value(t) for t in body.outputs]

    def value(self, tensor: Any) -> Any:
        """What `tensor` of the body is outside."""
        found = self.values.get(tensor)
        if found is not None:
            return found
        if isinstance(tensor, Constant):
            self.values[tensor] = found = self._constant(tensor)
            return found
        return tensor

    def _constant(self, tensor: Constant) -> Constant:
        if self.workspace.is_only_name(tensor) and self.once:
            return tensor
        return self.patch.fresh_constant(tensor._values, self.prefix + tensor.name)

    def _node(self, node: Node) -> None:
        attrs = dict(node.attrs) if self.attrs is None else self.attrs(node)
        for tensor in node.outputs:
            if tensor.name and tensor not in self.values:
                self.values[tensor] = self._fresh(tensor)
        inner = self._renamed(node)
        attrs = {
            k: Body(v, {**self.values, **inner}, self.attrs, self.prefix) if isinstance(v, Graph) else v
            for k, v in attrs.items()
        }
        inputs = [self.value(t) if t.name or isinstance(t, Constant) else None for t in node.inputs]
        outputs = [self.values[t] if t.name else Variable.empty() for t in node.outputs]
        self.patch.add_many(
            node.op, inputs, attrs, outs=outputs, domain=node.domain or "", name=self._node_name(node), like=node
        )

    def _fresh(self, tensor: Any) -> Variable:
        if self.once and self.workspace.is_only_name(tensor):
            copy = tensor.copy()
            assert isinstance(copy, Variable)
            return copy
        return self.patch.fresh_variable(self.prefix + tensor.name, tensor.dtype, tensor.shape, tensor.type)

    def _node_name(self, node: Node) -> str:
        return f"{self.prefix}{node.name}" if node.name else ""

    def _renamed(self, node: Node) -> dict[Any, Any]:
        """Constants inside the node's subgraphs, whose names may meet others outside."""
        found: dict[Any, Any] = {}
        stack = [v for v in node.attrs.values() if isinstance(v, Graph)]
        while stack:
            graph = stack.pop()
            for inner in graph.nodes:
                for tensor in inner.inputs:
                    if isinstance(tensor, Constant):
                        found[tensor] = self.value(tensor)
                stack.extend(v for v in inner.attrs.values() if isinstance(v, Graph))
        return found


def resolved(call: Node, defaults: Mapping[str, Any]) -> Callable[[Node], dict[str, Any]]:
    """The attributes of a body node, references replaced by what `call` gives; one that is given by nobody is left out."""

    def attrs(node: Node) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name, value in node.attrs.items():
            if isinstance(value, gs.Node.AttributeRef):
                value = call.attrs.get(value.name, defaults.get(value.name))
                if value is None:
                    continue
            out[name] = value
        return out

    return attrs
