"""int64 that need not be: indices and inputs in int32, for runtimes that have no wider integers.

Only where nothing can change: a constant whose elements fit, read where the specification takes either type for itself; and inputs, which a
Cast widens again for readers that need it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from exec.ir import Constant, Graph, Model, Node, Variable, no_gc, walk
from exec.ir.naming import Names
from exec.ir.opsets import schema_of

INT64, INT32 = np.dtype(np.int64), np.dtype(np.int32)


@dataclass(frozen=True, slots=True)
class Int32Result:
    """The model, how many constants and inputs are int32 now, and how many int64 constants had to stay."""

    model: Model
    constants: int
    inputs: int
    kept: int


def to_int32(model: Model, *, keep_io: bool = True) -> Int32Result:
    """A copy of `model` with int32 where that is safe; with `keep_io` the inputs keep their types."""
    with no_gc():
        copy = model.copy()
        names = Names(copy.graph)
        twins: dict[int, Constant] = {}
        kept: set[int] = set()
        for graph in walk(copy.graph):
            for node in graph.nodes:
                free = set(_free(node, copy.opset))
                for k, tensor in enumerate(list(node.inputs)):
                    if not isinstance(tensor, Constant) or tensor.dtype != INT64:
                        continue
                    if k in free and _fits(tensor):
                        if id(tensor) not in twins:
                            twins[id(tensor)] = Constant(
                                names.unique(f"{tensor.name}_int32"), tensor.values.astype(np.int32)
                            )
                        node.inputs[k] = twins[id(tensor)]
                    else:
                        kept.add(id(tensor))
        inputs = 0 if keep_io else _inputs(copy.graph, names)
        return Int32Result(copy, len(twins), inputs, len(kept - twins.keys()))


def _free(node: Node, opset: int) -> Iterator[int]:
    """Inputs whose type may be int32 without any other input or output having to follow."""
    schema = None if node.domain else schema_of(node.op, opset)
    if schema is None:
        return
    either = {
        c.type_param_str
        for c in schema.type_constraints
        if {"tensor(int32)", "tensor(int64)"} <= set(c.allowed_type_strs)
    }
    shared = [p.type_str for p in (*schema.inputs, *schema.outputs)]
    for k, formal in enumerate(schema.inputs[: len(node.inputs)]):
        if formal.type_str in either and shared.count(formal.type_str) == 1 and k < len(schema.inputs):
            yield k


def _fits(tensor: Constant) -> bool:
    info = np.iinfo(np.int32)
    values = tensor.values
    return values.size == 0 or (int(values.min()) >= info.min and int(values.max()) <= info.max)


def _inputs(graph: Graph, names: Names) -> int:
    """Every int64 input becomes int32, and a Cast makes the old value of it."""
    count = 0
    for k, tensor in enumerate(list(graph.inputs)):
        if not isinstance(tensor, Variable) or tensor.dtype != INT64 or tensor.type not in (None, "tensor_type"):
            continue
        if getattr(tensor, "default", None) is not None:
            continue
        name = tensor.name
        narrow = Variable(name, INT32, tensor.shape)
        tensor.name = names.unique(f"{name}_int64")
        graph.inputs[k] = narrow
        graph.nodes.insert(0, Node("Cast", f"{tensor.name}_cast", {"to": TensorProto.INT64}, [narrow], [tensor]))
        count += 1
    return count


__all__ = ["Int32Result", "to_int32"]
