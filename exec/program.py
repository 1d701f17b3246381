"""A graph, flattened: numbered values and a list of operations in order.

The graph a user edits is made of objects that point at each other; what a run needs is numbers. `flatten` gives every
value of one graph a number, resolves attributes, inlines model-local functions (attribute references included) and
turns each subgraph attribute into a `Program` of its own, whose captured outer values are listed.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_graphsurgeon as gs
from onnx import numpy_helper

from exec.arrays import Value
from exec.errors import InvalidModel, UnsupportedOp
from exec.ir import Opaque

MISSING = -1
"""The number of an optional input that is not given."""


@dataclass(slots=True, eq=False)
class Operation:
    """One node with its values as numbers.

    opset      the version of `domain` it follows
    attributes name to value: arrays for tensors, `Program` for subgraphs
    captures   per subgraph attribute, the numbers (here) of the outer values it reads
    node       the source node in the user's graph; of an inlined function's body, the node that calls it
    """

    op: str
    domain: str
    opset: int
    attributes: dict[str, Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    node: Any
    captures: dict[str, tuple[int, ...]]
    opsets: Mapping[str, int]

    @property
    def reads(self) -> Iterable[int]:
        """Every value number the operation needs, captured ones included."""
        yield from (i for i in self.inputs if i >= 0)
        for numbers in self.captures.values():
            yield from numbers

    def __repr__(self) -> str:
        return f"{self.domain or 'ai.onnx'}::{self.op}{self.inputs}->{self.outputs}"


@dataclass(slots=True, eq=False)
class Program:
    """The operations of one graph.

    names      value number to name; "" for a value of an inlined function
    inputs     numbers of the graph's inputs, in order; outputs likewise
    constants  number to array (loaded at first use)
    captured   outer tensors this subgraph reads, with their numbers here
    declared   (dtype, shape) of each output as far as the graph says: what a loop of no iterations gives
    """

    name: str = ""
    names: list[str] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    constants: dict[int, Any] = field(default_factory=dict)
    captured: list[tuple[Any, int]] = field(default_factory=list)
    declared: list[tuple[Any, Any]] = field(default_factory=list)
    named: dict[str, int] = field(default_factory=dict)

    def constant(self, number: int) -> Value:
        """The value of a constant, loaded and aligned once."""
        value = self.constants[number]
        if isinstance(value, gs.Constant):
            value = self.constants[number] = aligned(tensor_values(value))
        return value


def constant_bytes(program: Program) -> int:
    """What the constants of a program and of its subgraphs take; none is loaded."""
    return sum(map(_nbytes, program.constants.values())) + sum(map(constant_bytes, _bodies(program)))


def filled_bytes(program: Program) -> int:
    """What the weights take that a number and a ConstantOfShape stand for, in a program and its subgraphs."""
    given = {o.outputs[0]: o.attributes.get("value") for o in program.operations if o.op == "Constant" and o.outputs}
    total = 0
    for operation in program.operations:
        if operation.op == "ConstantOfShape" and not operation.domain:
            number = operation.inputs[0]
            total += _filled(program.constant(number) if number in program.constants else given.get(number))
    return total + sum(map(filled_bytes, _bodies(program)))


def _bodies(program: Program) -> Iterator[Program]:
    return (v for o in program.operations for v in o.attributes.values() if isinstance(v, Program))


def _filled(shape: Any) -> int:
    """The bytes of a ConstantOfShape of this constant; none where it is over a GiB."""
    if not isinstance(shape, np.ndarray) or shape.dtype != np.int64 or shape.size > 8 or (shape < 0).any():
        return 0
    size = 4 * math.prod(shape.reshape(-1).tolist())
    return size if size <= 1 << 30 else 0


def _nbytes(value: Any) -> int:
    kept = value._values if isinstance(value, gs.Constant) else value
    return int(getattr(kept, "nbytes", 0))


def aligned(value: Value) -> Value:
    """`value`, copied if its bytes lie at an odd address: BLAS copies such an operand at every call."""
    if isinstance(value, np.ndarray) and not value.flags.aligned:
        value = value.copy()
        value.flags.writeable = False
    return value


def tensor_values(tensor: Any) -> Any:
    """The array of a `gs.Constant`, sparse ones made dense."""
    values = tensor.values
    return values.load() if isinstance(values, gs.ir.tensor.LazyValues) else values


def flatten(graph: Any, opsets: Mapping[str, int], functions: Iterable[Any] = ()) -> Program:
    """The `Program` of a graph and, inside its operations, of every subgraph.

    opsets     domain to version, "" for ai.onnx
    functions  model-local functions to inline
    """
    table = {function_key(f.domain, f.name, getattr(f, "overload", "")): f for f in functions}
    program = Program(graph.name or "")
    flattener = _Flattener(program, table)
    flattener.graph(graph, _normalised(opsets), None, None)
    if program.captured:
        lost = program.captured[0][0].name
        raise InvalidModel(f"value '{lost}' is read, but nothing produces it", where=_reader(program, lost))
    return program


def function_key(domain: str | None, name: str, overload: str | None = "") -> tuple[str, str, str]:
    """What identifies a model-local function."""
    return ("" if domain in (None, "ai.onnx") else str(domain), name, overload or "")


def _normalised(opsets: Mapping[str, int]) -> dict[str, int]:
    return {("" if domain == "ai.onnx" else domain): version for domain, version in opsets.items()}


def _reader(program: Program, name: str) -> str:
    number = next(n for t, n in program.captured if t.name == name)
    user = next((o for o in program.operations if number in o.reads), None)
    return f"read by node {user.node.name or user.op}" if user else "a graph output"


def in_order(operations: list[Operation]) -> list[Operation]:
    """The operations so that each comes after those whose values it reads, otherwise as they were."""
    maker = {number: k for k, o in enumerate(operations) for number in o.outputs if number >= 0}
    users: list[list[int]] = [[] for _ in operations]
    waiting = [0] * len(operations)
    for k, operation in enumerate(operations):
        for before in {maker[n] for n in operation.reads if n in maker}:
            users[before].append(k)
            waiting[k] += 1
    ready = [k for k, n in enumerate(waiting) if n == 0]
    heapq.heapify(ready)
    result = []
    while ready:
        k = heapq.heappop(ready)
        result.append(operations[k])
        for user in users[k]:
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(ready, user)
    if len(result) < len(operations):
        stuck = next(o for o, n in zip(operations, waiting, strict=True) if n)
        raise InvalidModel("the graph has a cycle", where=f"node {stuck.node.name or stuck.op}")
    return result


class _Flattener:
    """Numbers the values of one program; one instance per program, a new one per subgraph."""

    def __init__(self, program: Program, functions: dict[tuple[str, str, str], Any]) -> None:
        self.program = program
        self.functions = functions
        self.numbers: dict[int, int] = {}  # id of a tensor object to its number; the graph keeps the objects alive
        self.unsorted = False

    def fresh(self, name: str) -> int:
        self.program.names.append(name)
        return len(self.program.names) - 1

    def declare(self, tensor: Any, visible: bool = True) -> int:
        number = self.numbers.get(id(tensor))
        if number is not None:  # a node before this one reads it: the list is not in order
            self.program.captured = [pair for pair in self.program.captured if pair[1] != number]
            self.unsorted = True
            return number
        number = self.numbers[id(tensor)] = self.fresh(tensor.name if visible else "")
        if visible and tensor.name:
            self.program.named.setdefault(tensor.name, number)
        return number

    def number(self, tensor: Any, scope: dict[int, int] | None, visible: bool) -> int:
        """The number of a tensor that is read."""
        if not tensor.name and not isinstance(tensor, gs.Constant):
            return MISSING
        if scope is not None and id(tensor) in scope:
            return scope[id(tensor)]
        known = self.numbers.get(id(tensor))
        if known is None:
            known = self.declare(tensor, visible)
            if isinstance(tensor, gs.Constant):
                self.program.constants[known] = tensor
            else:
                self.program.captured.append((tensor, known))
        return known

    def graph(self, graph: Any, opsets: Mapping[str, int], owner: Any, attributes: Mapping[str, Any] | None) -> None:
        for tensor in graph.inputs:
            self.program.inputs.append(self.declare(tensor))
        self.nodes(graph.nodes, opsets, owner, attributes, None, ())
        self.program.outputs = [self.number(tensor, None, True) for tensor in graph.outputs]
        self.program.declared = [(tensor.dtype, tensor.shape) for tensor in graph.outputs]
        if self.unsorted:
            self.program.operations = in_order(self.program.operations)

    def nodes(
        self,
        nodes: Iterable[Any],
        opsets: Mapping[str, int],
        owner: Any,
        attributes: Mapping[str, Any] | None,
        scope: dict[int, int] | None,
        calls: tuple[tuple[str, str, str], ...],
    ) -> None:
        """Append `nodes`; inside a function body `scope` maps its tensors and `attributes` are the caller's."""
        for node in nodes:
            domain = "" if node.domain in (None, "ai.onnx") else node.domain
            key = function_key(domain, node.op, getattr(node, "overload", ""))
            inputs = [self.number(t, scope, scope is None) for t in node.inputs]
            while inputs and inputs[-1] == MISSING:
                inputs.pop()
            outputs = []
            for tensor in node.outputs:
                if not tensor.name:
                    outputs.append(MISSING)
                elif scope is not None:
                    outputs.append(scope.setdefault(id(tensor), -2))
                    if outputs[-1] == -2:
                        outputs[-1] = scope[id(tensor)] = self.fresh("")
                else:
                    outputs.append(self.declare(tensor))
            body = self.functions.get(key)
            if body is not None:
                self.inline(body, key, node, inputs, outputs, owner, attributes, calls)
                continue
            values, captures = self.attributes(node, opsets, owner, attributes, scope)
            self.program.operations.append(
                Operation(
                    node.op, domain, opsets.get(domain, 1), values, tuple(inputs), tuple(outputs),
                    node if owner is None else owner, captures, opsets,
                )
            )  # fmt: skip

    def inline(
        self,
        body: Any,
        key: tuple[str, str, str],
        node: Any,
        inputs: list[int],
        outputs: list[int],
        owner: Any,
        attributes: Mapping[str, Any] | None,
        calls: tuple[tuple[str, str, str], ...],
    ) -> None:
        if key in calls:
            raise InvalidModel(f"function {'::'.join(key[:2])} calls itself", where=f"node {node.name or node.op}")
        defaults = body.attrs if isinstance(body.attrs, Mapping) else {}
        resolved = {name: _resolve(value, attributes) for name, value in node.attrs.items()}
        given = {**defaults, **{name: value for name, value in resolved.items() if value is not None}}
        scope: dict[int, int] = {}
        for k, tensor in enumerate(body.inputs):
            scope[id(tensor)] = inputs[k] if k < len(inputs) else MISSING
        # A body output takes the caller's number, unless the body only passes an input (or one value twice) through.
        copies = []
        produced = {id(t) for n in body.nodes for t in n.outputs}
        for tensor, number in zip(body.outputs, outputs, strict=False):
            if number == MISSING:
                continue
            if id(tensor) in scope or id(tensor) not in produced:
                copies.append((tensor, number))
            else:
                scope[id(tensor)] = number
        opsets = _normalised(body_opsets(body))
        top = node if owner is None else owner
        self.nodes(body.nodes, opsets, top, given, scope, (*calls, key))
        for tensor, number in copies:
            source = self.number(tensor, scope, False)
            self.program.operations.append(
                Operation("Identity", "", opsets.get("", 1), {}, (source,), (number,), top, {}, opsets)
            )

    def attributes(
        self,
        node: Any,
        opsets: Mapping[str, int],
        owner: Any,
        outer: Mapping[str, Any] | None,
        scope: dict[int, int] | None,
    ) -> tuple[dict[str, Any], dict[str, tuple[int, ...]]]:
        values: dict[str, Any] = {}
        captures: dict[str, tuple[int, ...]] = {}
        for name, value in node.attrs.items():
            value = _resolve(value, outer)
            if value is None:
                continue
            if isinstance(value, gs.Graph):
                inner = Program(value.name or "")
                flattener = _Flattener(inner, self.functions)
                flattener.graph(value, opsets, owner, outer)
                captures[name] = tuple(self.number(t, scope, scope is None) for t, _ in inner.captured)
                values[name] = inner
            else:
                values[name] = attribute_value(value, node)
        return values, captures


def _resolve(value: Any, attributes: Mapping[str, Any] | None) -> Any:
    """An attribute's value; of a reference, the caller's, or None if the caller gives none."""
    if isinstance(value, gs.Node.AttributeRef):
        return None if attributes is None else attributes.get(value.name)
    return value


def attribute_value(value: Any, node: Any) -> Any:
    """What a kernel gets for an attribute: tensors as arrays, the rest as it is."""
    if isinstance(value, gs.Constant):
        return aligned(tensor_values(value))
    if isinstance(value, gs.ir.tensor.LazyValues):
        return value.load()
    if isinstance(value, Opaque):
        return _opaque_value(value, node)
    return value


def _opaque_value(value: Opaque, node: Any) -> Any:
    proto = value.proto
    if value.kind == "SPARSE_TENSOR":
        return proto.sparse_tensor
    if value.kind == "TENSORS":
        return [numpy_helper.to_array(t) for t in proto.tensors]
    if value.kind == "TYPE_PROTO":
        return proto.tp
    what = f"attribute '{proto.name}' of type {value.kind} is not run"
    raise UnsupportedOp(what, where=f"node {node.name or node.op}")


def body_opsets(body: Any) -> dict[str, int]:
    """Domain to version of a model-local function."""
    domains = getattr(body, "import_domains", None)
    found = {d.domain: d.version for d in domains} if domains else {}
    found.setdefault("", body.opset)
    return found
