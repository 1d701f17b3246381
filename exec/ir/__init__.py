"""What a file means: the lossless file ⇄ graph layer.

    model = load("m.onnx")      # a Model: .graph .opset .inputs .outputs .to_proto() .save(path) .copy()

The graph is onnx_graphsurgeon's, in subclasses that compare by identity and remember the proto they came from.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exec.ir.collector import no_gc
    from exec.ir.editing import constant_value, is_foldable, prune, remove_nodes, replace_all_uses, walk
    from exec.ir.graph import Function, Graph
    from exec.ir.model import Model, Snapshot, ValueInfo, load
    from exec.ir.naming import Names, unique_name
    from exec.ir.node import Node
    from exec.ir.notes import Note
    from exec.ir.opaque import Opaque
    from exec.ir.save import Saved
    from exec.ir.sorting import reads, subgraphs_of, toposort
    from exec.ir.tensor import Constant, Tensor, Variable
    from exec.ir.weights import Weight

_HOMES = {
    "collector": ("no_gc",),
    "editing": ("constant_value", "is_foldable", "prune", "remove_nodes", "replace_all_uses", "walk"),
    "naming": ("Names", "unique_name"),
    "graph": ("Function", "Graph"),
    "node": ("Node",),
    "opaque": ("Opaque",),
    "tensor": ("Constant", "Tensor", "Variable"),
    "model": ("Model", "Snapshot", "ValueInfo", "load"),
    "notes": ("Note",),
    "save": ("Saved",),
    "sorting": ("reads", "subgraphs_of", "toposort"),
    "weights": ("Weight",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Constant", "Function", "Graph", "Model", "Names", "Node", "Note", "Opaque", "Saved", "Snapshot", "Tensor", "ValueInfo", "Variable",
    "Weight", "constant_value", "is_foldable", "load", "no_gc", "prune", "reads", "remove_nodes", "replace_all_uses", "subgraphs_of", "toposort", "unique_name", "walk",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"exec.ir.{_HOME[name]}"), name)
    globals()[name] = value
    return value
