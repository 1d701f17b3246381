"""Ops without a kernel of ours: the function body the specification gives, else what `onnx.reference` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.defs
from onnx import helper

from exec.arrays import Value
from exec.definition import attribute_protos, call_of_definition, has_definition
from exec.ir.opsets import schema_of
from exec.program import Operation, Program, flatten

Call = Callable[[Sequence[Value], Any], Sequence[Value]]


def reference_function(operation: Operation) -> Call | None:
    """A call that computes `operation`, or None if nobody can."""
    if any(isinstance(v, Program) for v in operation.attributes.values()):
        return None  # a subgraph is numbers by now; ops that have one need a kernel
    schema: Any = schema_of(operation.op, operation.opset, operation.domain)
    if schema is not None and has_definition(schema):
        return _FunctionBody(operation, schema)
    return _Reference(operation) if has_reference(operation) else None


def has_reference(operation: Operation) -> bool:
    """Whether `onnx.reference` implements the op itself."""
    from onnx.reference.ops._op_list import load_op  # 0.3 s to import, needed by few models

    try:
        return load_op(operation.domain, operation.op, operation.opset) is not None
    except Exception:  # its lookup fails in as many ways as it has callers
        return False


def node_proto(operation: Operation, inputs: Sequence[str], outputs: Sequence[str]) -> onnx.NodeProto:
    """The operation as a proto again."""
    node = helper.make_node(operation.op, list(inputs), list(outputs), domain=operation.domain)
    schema: Any = schema_of(operation.op, operation.opset, operation.domain)
    node.attribute.extend(attribute_protos(operation.attributes, schema))
    return node


class _Reference:
    """The op run by `onnx.reference` as a model of one node."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.sessions: dict[int, Any] = {}

    def __call__(self, inputs: Sequence[Value], context: Any) -> Sequence[Value]:
        names = ["" if value is None else f"i{k}" for k, value in enumerate(inputs)]
        key = sum(1 << k for k, name in enumerate(names) if name)
        session = self.sessions.get(key)
        outputs = [f"o{k}" if number >= 0 else "" for k, number in enumerate(self.operation.outputs)]
        wanted = [name for name in outputs if name]
        if session is None:
            session = self.sessions[key] = self._session(names, outputs)
        got = iter(session.run(wanted, {n: v for n, v in zip(names, inputs, strict=True) if n}))
        return [_value(next(got)) if name else None for name in outputs]

    def _session(self, names: Sequence[str], outputs: Sequence[str]) -> Any:
        from onnx.reference import ReferenceEvaluator

        operation, untyped = self.operation, onnx.TypeProto()
        graph = helper.make_graph(
            [node_proto(operation, names, outputs)],
            "one",
            [helper.make_value_info(n, untyped) for n in names if n],
            [helper.make_value_info(n, untyped) for n in outputs if n],
        )
        opsets = {**operation.opsets, operation.domain: operation.opset}
        imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
        return ReferenceEvaluator(helper.make_model(graph, opset_imports=imports))


def _value(value: Value) -> Value:
    return np.asarray(value) if isinstance(value, np.generic) else value


class _FunctionBody:
    """The op as the function body of its schema, run on kernels; one body per combination of input types."""

    def __init__(self, operation: Operation, schema: Any) -> None:
        self.operation, self.schema = operation, schema
        self.programs: dict[tuple[Any, ...], Program] = {}

    def __call__(self, inputs: Sequence[Value], context: Any) -> Sequence[Value]:
        key = tuple(type_key(value) for value in inputs)
        program = self.programs.get(key)
        if program is None:
            program = self.programs[key] = self._program(inputs)
        got = iter(context.run(program, [value for value in inputs if value is not None]))
        return [next(got) if number >= 0 else None for number in self.operation.outputs]

    def _program(self, inputs: Sequence[Value]) -> Program:
        operation = self.operation
        names = ["" if value is None else f"i{k}" for k, value in enumerate(inputs)]
        outputs = [f"o{k}" if number >= 0 else "" for k, number in enumerate(operation.outputs)]
        node, types = node_proto(operation, names, outputs), [type_proto(v) for v in inputs]
        model = call_of_definition(node, self.schema, operation.opset, types, operation.opsets)
        return flatten(model.graph, model.opsets, model.graph.functions)


def type_key(value: Value) -> Any:
    """What of a value's type a function body may depend on."""
    if isinstance(value, list):
        return ("sequence", type_key(value[0]) if value else None)
    return None if value is None else (np.asarray(value).dtype, np.ndim(value))


def type_proto(value: Value) -> onnx.TypeProto:
    """The ONNX type of a run-time value."""
    if value is None:
        return onnx.TypeProto()
    if isinstance(value, list):
        inner = type_proto(value[0]) if value else helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None)
        return helper.make_sequence_type_proto(inner)
    array = np.asarray(value)
    if array.dtype.kind in "OUST":
        return helper.make_tensor_type_proto(onnx.TensorProto.STRING, array.shape)
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
