"""What is known of every value of a model: type, shape, and the elements of shape arithmetic.

`Facts.of(tensor)` answers from what the nodes before it compute, never from what the file declares about intermediate values: those
declarations are claims, and exporters get them wrong. Trusted are the declared types and sizes of the model's own inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import onnx_graphsurgeon as gs

from exec.arrays import Array
from exec.ir import Constant, Graph, Model, Node, Variable, constant_value
from exec.program import function_key
from passes.dims import Dim, fresh, symbol
from passes.shapes import control, elementwise, generator, movement, nn, reduction, signal, values
from passes.shapes.registry import VALUE_LIMIT, Call, Fact, objects, shapes
from passes.shapes.registry import values as value_functions
from passes.shapes.types import dtypes

FAMILIES = (control, elementwise, generator, movement, nn, reduction, signal, values)
"""Imported for what they register."""

UNKNOWN = Fact()

REFRESH_LIMIT = 10_000
"""Steps of one refresh: what lies further away is computed anew in a later run."""

_ANONYMOUS = frozenset({"", "?", "*", "-1", "none", "unknown", "dynamic", "unk"})


def declared_dim(dim: Any) -> Dim:
    """A declared dimension: 0, -1, "?" and exporters' serial names say nothing, and two of them are not the same."""
    if isinstance(dim, str):
        plain = dim.strip().lower()
        return fresh() if plain in _ANONYMOUS or plain.startswith(("unk__", "?")) else symbol(dim)
    if dim is None or int(dim) <= 0:
        return fresh()
    return int(dim)


class Facts:
    """Facts about the values of one model, computed on demand and remembered by identity."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.functions = {function_key(f.domain, f.name, f.overload) for f in model.graph.functions}
        self._opsets: dict[Node, int] = {}
        self._known: dict[Any, Fact] = {}
        self._busy: set[Node] = set()
        self._declare(model.graph)

    def _declare(self, graph: Graph) -> None:
        for tensor in graph.inputs:
            if isinstance(tensor, Variable):
                dtype = tensor.dtype if isinstance(tensor.dtype, np.dtype) else None
                plain = tensor.type in (None, "tensor_type")
                shape = tuple(declared_dim(d) for d in tensor.shape) if plain and tensor.shape is not None else None
                self._known[tensor] = Fact(dtype if plain else None, shape)

    def of(self, tensor: Any) -> Fact:
        """What is known of `tensor`."""
        found = self._known.get(tensor)
        if found is not None:
            return found
        if isinstance(tensor, Constant):
            return self._constant(tensor)
        if not tensor.inputs or tensor.inputs[0] in self._busy:
            return UNKNOWN
        self._compute(tensor.inputs[0])
        return self._known.get(tensor, UNKNOWN)

    def dtype(self, tensor: Any) -> np.dtype[Any] | None:
        return self.of(tensor).dtype

    def shape(self, tensor: Any) -> tuple[Dim, ...] | None:
        return self.of(tensor).shape

    def peek(self, tensor: Any) -> Fact | None:
        """What was computed for `tensor` so far."""
        return self._known.get(tensor)

    def set(self, tensor: Any, fact: Fact) -> None:
        """Tell what is known of a value that no node computes (a subgraph's input)."""
        self._known[tensor] = fact

    def forget(self, tensors: Iterable[Any]) -> None:
        """Drop what was computed for `tensors`."""
        for tensor in tensors:
            self._known.pop(tensor, None)

    def note(self, node: Node) -> None:
        """Compute the facts of a node's outputs anew."""
        self.forget(node.outputs)
        self._compute(node)

    def refresh(self, tensors: Iterable[Any]) -> None:
        """More is known of `tensors` than before: compute anew what follows from it, as far as it learns something."""
        queue = [reader for tensor in tensors for reader in tensor.outputs]
        steps = 0
        while queue and steps < REFRESH_LIMIT:
            node, steps = queue.pop(), steps + 1
            if not all(t in self._known for t in node.outputs if t.name):
                continue
            for tensor, fact in zip(node.outputs, self._infer(node), strict=True):
                if tensor.name and knows_more(fact, self._known[tensor]):
                    fact.dtype = fact.dtype or self._known[tensor].dtype
                    self._known[tensor] = fact
                    queue.extend(tensor.outputs)

    def note_once(self, node: Node) -> None:
        """Compute the facts of a node's outputs unless they are known."""
        if any(t.name and t not in self._known for t in node.outputs):
            self._compute(node)

    def _constant(self, tensor: Constant) -> Fact:
        raw = tensor.dtype
        fact = Fact(raw if isinstance(raw, np.dtype) else None, tuple(int(d) for d in tensor.shape))
        size = 1
        for d in tensor.shape:
            size *= d
        if size <= VALUE_LIMIT and fact.dtype is not None:
            fact.array = tensor.values
        self._known[tensor] = fact
        return fact

    def _compute(self, last: Node) -> None:
        """Compute `last` and, first, whatever it reads that is not known yet: a stack, as chains are longer than Python's.

        A node that waits for others is busy; what is read from it meanwhile lies on a cycle, and is unknown.
        """
        stack = [last]
        while stack:
            node = stack[-1]
            if all(t in self._known for t in node.outputs if t.name):
                stack.pop()
                continue
            if node not in self._busy:
                self._busy.add(node)
                waiting = [
                    maker
                    for tensor in reads(node)
                    if tensor not in self._known and tensor.inputs and (maker := tensor.inputs[0]) not in self._busy
                ]
                if waiting:
                    stack.extend(waiting)
                    continue
            stack.pop()
            self._node(node)

    def _node(self, node: Node) -> None:
        self._busy.add(node)
        try:
            facts = self._infer(node)
        finally:
            self._busy.discard(node)
        for tensor, fact in zip(node.outputs, facts, strict=True):
            if tensor.name:
                if (
                    fact.dtype is None
                    and isinstance(tensor.dtype, np.dtype)
                    and getattr(tensor, "type", "") == "tensor_type"
                ):
                    # no runtime loads a model whose declared element type is wrong
                    fact.dtype = tensor.dtype
                self._known[tensor] = fact

    def opset(self, node: Node) -> int:
        """The default domain's version where `node` is."""
        return self.model.opset if not self._opsets else self._opsets.get(node, self.model.opset)

    def in_function(self, graph: Graph, opset: int) -> None:
        """Note that the nodes of a function body follow another opset."""
        for node in graph.nodes:
            self._opsets[node] = opset

    def _infer(self, node: Node) -> list[Fact]:
        count = len(node.outputs)
        if node.domain or function_key(node.domain, node.op, node.overload) in self.functions:
            return [Fact() for _ in range(count)]
        if any(isinstance(v, gs.Node.AttributeRef) for v in node.attrs.values()):
            return [Fact() for _ in range(count)]
        try:
            if node.op in control.CONTROL:
                return control.CONTROL[node.op](self, node)
            inputs = [self.of(t) if t.name or isinstance(t, Constant) else None for t in node.inputs]
            return self._call(Call(node.op, node.attrs, self.opset(node), inputs, count), node)
        except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError):
            # the node's attributes and inputs do not fit its specification: it has no meaning to infer, and a run will say so
            return [Fact() for _ in range(count)]

    def _call(self, call: Call, node: Node) -> list[Fact]:
        count = call.n_outputs
        kinds = dtypes(call)
        found = shapes[call.op](call) if call.op in shapes else None
        outs = found if isinstance(found, list) else [found] + [None] * (count - 1)
        facts = [Fact(kinds[k], outs[k] if k < len(outs) else None) for k in range(count)]
        if call.op == "Constant":
            array = constant_value(node.outputs[0])
            if array is not None and array.size <= VALUE_LIMIT:
                facts[0].array = array
        elif call.op in value_functions and kinds[0] is not None and kinds[0].kind in "iubf":
            self._values(call, facts)
        return facts

    def _values(self, call: Call, facts: list[Fact]) -> None:
        first = facts[0].shape
        if first is not None and len(first) <= 3 and all(isinstance(d, int) and d <= VALUE_LIMIT for d in first):
            found = value_functions[call.op](call)
            arrays = found if isinstance(found, list) else [found]
            for fact, array in zip(facts, arrays, strict=False):
                if array is not None and array.size <= VALUE_LIMIT:
                    fact.value = array if array.dtype == object else objects(array.shape, list(array.reshape(-1)))
                    fact.shape = tuple(array.shape)


def knows_more(new: Fact, old: Fact) -> bool:
    """Whether `new` says something about a value that `old` does not."""
    if new.shape is None:
        return False
    if old.shape is None or len(old.shape) != len(new.shape):
        return True
    if any(isinstance(a, int) and not isinstance(b, int) for a, b in zip(new.shape, old.shape, strict=True)):
        return True
    return _numbers(new) > _numbers(old)


def _numbers(fact: Fact) -> int:
    """How many elements are known, as numbers; -1 where nothing is said about them."""
    return -1 if fact.value is None else sum(isinstance(v, int) for v in fact.value.reshape(-1))


def reads(node: Node) -> Iterator[Any]:
    """The values a node needs: its inputs and what its subgraphs capture."""
    yield from node.inputs
    for value in node.attrs.values():
        if isinstance(value, Graph):
            yield from captured(value)


def captured(graph: Graph) -> Iterator[Any]:
    """The outer values the nodes and the outputs of a subgraph read."""
    inner: set[Any] = set(graph.inputs)
    for node in graph.nodes:
        inner.update(node.outputs)
    for node in graph.nodes:
        for tensor in reads(node):
            if tensor not in inner and tensor.name and not isinstance(tensor, Constant):
                yield tensor
    for tensor in graph.outputs:
        if tensor not in inner and not isinstance(tensor, Constant):
            yield tensor


def known_elements(fact: Fact) -> Array | None:
    """The elements of a value that shape arithmetic knows completely, in its own type; None otherwise."""
    if fact.value is None or fact.dtype is None or fact.dtype.kind not in "iubf":
        return None
    flat = fact.value.reshape(-1)
    if not all(isinstance(v, int) for v in flat):
        return None
    if fact.dtype.kind in "iu":
        limits = np.iinfo(fact.dtype)
        if any(not limits.min <= v <= limits.max for v in flat):
            return None
    elif fact.dtype.kind == "f" and any(abs(v) > 2 ** (np.finfo(fact.dtype).nmant + 1) for v in flat):
        return None
    return np.array(flat.tolist(), fact.dtype).reshape(fact.value.shape)
