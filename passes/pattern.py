"""Small patterns over nodes and values, matched from the last node backwards.

    op("BatchNormalization", op("Conv", ANY, const("w"), optional(const("b")), as_="conv"), const("g"), const("beta"), const("mu"), const("var"))

A match is *structural* first: op types, arity, numbers that define the formula. What the rewrite needs beyond that (a constant, a value
read only inside the match) does not make the match fail: it becomes its objection, so "why was this Conv not fused?" has an answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from exec.arrays import Array
from exec.ir import Constant, Node
from passes.base import Refusal, not_constant
from passes.region import Region

COMMUTATIVE = frozenset(
    {"Add", "Mul", "Max", "Min", "Sum", "And", "Or", "Xor", "Equal", "BitwiseAnd", "BitwiseOr", "BitwiseXor"}
)


@dataclass(slots=True)
class State:
    """What a match has bound so far, and what stands against it."""

    region: Region
    bound: dict[str, Any] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    inner: list[Node] = field(default_factory=list)
    objections: list[tuple[str, Node]] = field(default_factory=list)

    def copy(self) -> State:
        return State(self.region, dict(self.bound), list(self.nodes), list(self.inner), list(self.objections))

    def settle(self) -> None:
        """Once all nodes are known: object to values inside the match that somebody outside reads."""
        region = self.region
        for node in self.inner:
            tensor, name = node.outputs[0], node.name or node.op
            if region.is_output(tensor):
                self.objections.append((f"the output of {name} is also a graph output", node))
                continue
            other = next((r for r in tensor.outputs if not any(r is n for n in self.nodes)), None)
            if other is not None:
                self.objections.append((f"the output of {name} is also read by {other.name or other.op}", node))

    def bind(self, name: str, what: Any) -> bool:
        """Bind a name; bound already, it must mean the same."""
        if not name:
            return True
        if name in self.bound:
            return self.bound[name] is what
        self.bound[name] = what
        return True


@dataclass(slots=True)
class Match:
    """Where a pattern matched."""

    root: Node
    nodes: tuple[Node, ...]
    bound: Mapping[str, Any]
    region: Region
    objection: Refusal | None = None

    def __getitem__(self, name: str) -> Any:
        return self.bound[name]

    def get(self, name: str) -> Any:
        """The value or node bound to `name`; None for an optional part that is absent."""
        return self.bound.get(name)

    def array(self, name: str) -> Array:
        """The constant bound to `name`."""
        found = self.region.constant(self.bound[name])
        assert found is not None, f"{name} is matched as a constant"
        return found

    def number(self, name: str) -> float:
        """The scalar constant bound to `name`."""
        found = self.region.scalar(self.bound[name])
        assert found is not None, f"{name} is matched as a scalar"
        return found


class Pattern:
    """What a value may be."""

    def test(self, tensor: Any, reader: Node, state: State) -> Iterator[State]:
        """Every way the value matches, as states to go on from."""
        raise NotImplementedError

    def may(self, tensor: Any) -> bool:
        """A quick look: False where `test` certainly finds nothing."""
        return True


class Anything(Pattern):
    """Any value; a name binds it, the same name twice is the same value."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def test(self, tensor: Any, reader: Node, state: State) -> Iterator[State]:
        if state.bind(self.name, tensor):
            yield state


class Const(Pattern):
    """A constant. With `value` it must be that single number, with `scalar` any single number."""

    def __init__(
        self, name: str = "", value: float | None = None, scalar: bool = False, tolerance: float = 1e-6
    ) -> None:
        self.name, self.value, self.scalar, self.tolerance = name, value, scalar or value is not None, tolerance

    def test(self, tensor: Any, reader: Node, state: State) -> Iterator[State]:
        region = state.region
        if self.value is not None:
            found = region.scalar(tensor)
            if found is None or not math.isclose(found, self.value, rel_tol=self.tolerance, abs_tol=0.0):
                return
        elif not isinstance(tensor, Constant) and region.constant(tensor) is None:
            if self.scalar:
                return
            state.objections.append((not_constant(tensor), reader))
        elif self.scalar and region.scalar(tensor) is None:
            return
        if state.bind(self.name, tensor):
            yield state


class Maybe(Pattern):
    """A part that may be left out."""

    def __init__(self, inner: Pattern) -> None:
        self.inner = inner

    def test(self, tensor: Any, reader: Node, state: State) -> Iterator[State]:
        if tensor is None or (not tensor.name and not isinstance(tensor, Constant)):
            yield state
        else:
            yield from self.inner.test(tensor, reader, state)

    def may(self, tensor: Any) -> bool:
        return tensor is None or not tensor.name or self.inner.may(tensor)


class Either(Pattern):
    """The first of several forms that matches without objection, else the first that matches."""

    def __init__(self, *forms: Pattern) -> None:
        self.forms = forms

    def test(self, tensor: Any, reader: Node, state: State) -> Iterator[State]:
        for form in self.forms:
            if form.may(tensor):
                yield from form.test(tensor, reader, state.copy())

    def may(self, tensor: Any) -> bool:
        return any(form.may(tensor) for form in self.forms)


class Op(Pattern):
    """A node of one of `ops` and what its inputs must be.

    as_      binds the node
    shared   others may read its output too (it stays)
    rest     whether further inputs than those listed are allowed
    attrs    attribute values it must have; a missing one counts as None
    """

    def __init__(
        self,
        ops: str,
        inputs: tuple[Pattern, ...],
        as_: str = "",
        shared: bool = False,
        rest: bool = False,
        attrs: Mapping[str, Any] | None = None,
    ) -> None:
        self.ops = tuple(ops.split("|"))
        self.inputs, self.as_, self.shared, self.rest, self.attrs = inputs, as_, shared, rest, dict(attrs or {})
        self.required = sum(not isinstance(p, Maybe) for p in inputs)
        self.telling = tuple((k, p) for k, p in enumerate(inputs) if isinstance(p, (Op, Either, Maybe)))

    def may(self, tensor: Any) -> bool:
        return tensor is not None and bool(tensor.inputs) and tensor.inputs[0].op in self.ops

    def _may(self, tensors: list[Any]) -> bool:
        """Whether the makers of the inputs are of the right ops."""
        return all(p.may(tensors[k] if k < len(tensors) else None) for k, p in self.telling)

    def match(self, node: Node, region: Region) -> Match | None:
        """The match with `node` as its last node that has the fewest objections."""
        best: State | None = None
        for state in self._node(node, State(region), root=True):
            state.settle()
            if best is None or len(state.objections) < len(best.objections):
                best = state
            if not best.objections:
                break
        if best is None:
            return None
        objection = Refusal(*best.objections[0]) if best.objections else None
        return Match(node, tuple(reversed(best.nodes)), best.bound, region, objection)

    def test(self, tensor: Any, reader: Node, state: State) -> Iterator[State]:
        node = state.region.producer(tensor, *self.ops)
        if node is None or node.outputs[0] is not tensor:
            return
        yield from self._node(node, state, root=False)

    def _node(self, node: Node, state: State, root: bool) -> Iterator[State]:
        if (
            node.op not in self.ops
            or len(node.inputs) < self.required
            or (len(node.inputs) > len(self.inputs) and not self.rest)
        ):
            return
        if any(node.attrs.get(k) != v for k, v in self.attrs.items()):
            return
        if len(node.inputs) == 2 and node.op in COMMUTATIVE and len(self.inputs) == 2:
            orders = [(0, 1), (1, 0)] if node.inputs[0] is not node.inputs[1] else [(0, 1)]
            for order in orders:
                tensors = [node.inputs[k] for k in order]
                if self._may(tensors):
                    yield from self._inputs(node, tensors, state.copy(), root)
        elif self._may(node.inputs):
            yield from self._inputs(node, list(node.inputs), state, root)

    def _inputs(self, node: Node, tensors: list[Any], state: State, root: bool) -> Iterator[State]:
        if not state.bind(self.as_, node):
            return
        if any(n is node for n in state.nodes):
            # the same node reached on two ways: already part of the match
            yield state
            return
        state.nodes.append(node)
        if not root and not self.shared:
            state.inner.append(node)
        padded: list[Any] = tensors[: len(self.inputs)] + [None] * (len(self.inputs) - len(tensors))
        yield from self._rest(list(zip(self.inputs, padded, strict=True)), node, state)

    def _rest(self, pairs: list[tuple[Pattern, Any]], node: Node, state: State) -> Iterator[State]:
        if not pairs:
            yield state
            return
        (pattern, tensor), others = pairs[0], pairs[1:]
        if tensor is None and not isinstance(pattern, Maybe):
            return
        for found in pattern.test(
            tensor, node, state.copy() if others and not isinstance(pattern, (Anything, Const)) else state
        ):
            yield from self._rest(others, node, found)


def op(
    ops: str,
    *inputs: Pattern,
    as_: str = "",
    shared: bool = False,
    rest: bool = False,
    attrs: Mapping[str, Any] | None = None,
) -> Op:
    """A node of one of the op types ("Add|Sub") with these inputs."""
    return Op(ops, inputs, as_, shared, rest, attrs)


def const(name: str = "") -> Const:
    """A constant."""
    return Const(name)


def scalar(name: str = "") -> Const:
    """A constant of one element."""
    return Const(name, scalar=True)


def number(value: float, tolerance: float = 1e-6) -> Const:
    """The constant `value`."""
    return Const("", value, tolerance=tolerance)


def any_(name: str) -> Anything:
    """A value with a name."""
    return Anything(name)


def optional(inner: Pattern) -> Maybe:
    """A part that may be absent."""
    return Maybe(inner)


def either(*forms: Pattern) -> Either:
    """One of several forms."""
    return Either(*forms)


ANY = Anything()

__all__ = ["ANY", "Match", "Op", "Pattern", "any_", "const", "either", "number", "op", "optional", "scalar"]
