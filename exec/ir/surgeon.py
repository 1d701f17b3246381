"""The methods scripts know from graphsurgeon's Graph, on our own linear helpers.

graphsurgeon's own recurse, compare by value and look at the whole graph for each new node; `fold_constants` breaks nested Ifs and has
no limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from exec.errors import OptionError

if TYPE_CHECKING:
    from exec.ir.graph import Graph
    from exec.ir.naming import Names


class Surgeon:
    """Mixed into Graph."""

    if TYPE_CHECKING:
        nodes: list[Any]
        inputs: list[Any]
        outputs: list[Any]

    def toposort(self, recurse_subgraphs: bool = True, recurse_functions: bool = True, mode: str = "full") -> Graph:
        """Sort the nodes; see `exec.ir.toposort`."""
        from exec.ir.sorting import toposort

        graph = self._itself()
        if mode != "functions":
            toposort(graph)
        if recurse_functions and mode != "functions":
            for function in graph.functions:
                toposort(function)
        return graph

    def cleanup(
        self,
        remove_unused_node_outputs: bool = False,
        recurse_subgraphs: bool = True,
        remove_unused_graph_inputs: bool = False,
        recurse_functions: bool = True,
    ) -> Graph:
        """Remove nodes nothing reads; see `exec.ir.prune`."""
        from exec.ir.editing import prune, walk

        graph = self._itself()
        owners = [graph, *(graph.functions if recurse_functions else ())]
        for owner in owners:
            for part in list(walk(owner)) if recurse_subgraphs else [owner]:
                prune(part)
        if remove_unused_graph_inputs:
            graph.inputs = [
                tensor for tensor in graph.inputs if tensor.outputs or any(t is tensor for t in graph.outputs)
            ]
        if remove_unused_node_outputs:
            kept = {id(tensor) for part in walk(graph) for tensor in part.outputs}
            for node in graph.nodes:
                node.outputs = [t for t in node.outputs if not t.name or t.outputs or id(t) in kept]
        return graph

    def layer(
        self, inputs: Sequence[Any] | None = None, outputs: Sequence[Any] | None = None, *args: Any, **kwargs: Any
    ) -> list[Any]:
        """Append a node; arrays among the inputs become Constants, strings are names. Returns the node's outputs."""
        from exec.ir.naming import Names
        from exec.ir.node import Node
        from exec.ir.tensor import Constant, Variable

        graph = self._itself()
        names: Names = graph.__dict__.get("_layer_names") or Names(graph)
        graph.__dict__["_layer_names"] = names

        def tensor(item: Any) -> Any:
            if isinstance(item, str):
                return Variable(names.unique(item))
            if isinstance(item, np.ndarray | list | tuple | int | float):
                return Constant(names.unique("onnx_graphsurgeon_constant"), np.asarray(item))
            return item

        kwargs["inputs"] = [tensor(item) for item in inputs or ()]
        kwargs["outputs"] = [tensor(item) for item in outputs or ()]
        node = Node(*args, **kwargs)
        node.name = names.unique(node.name or node.op)
        graph.nodes.append(node)
        return list(node.outputs)

    def fold_constants(self, *args: Any, **kwargs: Any) -> Graph:
        """Not here: folding has budgets and is verified."""
        raise OptionError(
            "the graph does not fold constants itself", hint="workbench.optimize(model, passes='fold-constants') does"
        )

    def _itself(self) -> Graph:
        return cast("Graph", self)
