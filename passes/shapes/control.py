"""Facts about the outputs of If, Loop and Scan, from the bodies they run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from exec.ir import Graph, Node
from passes.dims import Dim, Shape, fresh
from passes.shapes.registry import Fact

if TYPE_CHECKING:
    from passes.shapes.facts import Facts

INT64, BOOL = np.dtype(np.int64), np.dtype(np.bool_)


def if_(facts: Facts, node: Node) -> list[Fact]:
    """What both branches agree on."""
    branches = [node.attrs.get(name) for name in ("then_branch", "else_branch")]
    found = [[facts.of(t) for t in b.outputs] for b in branches if isinstance(b, Graph)]
    if len(found) != 2 or any(len(f) != len(node.outputs) for f in found):
        return [Fact() for _ in node.outputs]
    return [_either(a, b) for a, b in zip(*found, strict=True)]


def _either(a: Fact, b: Fact) -> Fact:
    dtype = a.dtype if a.dtype == b.dtype else None
    return Fact(dtype, _merged(a.shape, b.shape))


def _merged(a: Shape | None, b: Shape | None) -> Shape | None:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else fresh() for x, y in zip(a, b, strict=True))


def _settle(facts: Facts, body: Graph, states: list[tuple[Any, Fact]], outs: Sequence[Any]) -> None:
    """Give carried values the widest shape they have in any round: assume the first one, look at what the body makes of it."""
    for _ in range(3):
        for tensor, fact in states:
            facts.set(tensor, Fact(fact.dtype, fact.shape))
        _forget(facts, body)
        changed = False
        for k, (_tensor, fact) in enumerate(states):
            after = facts.of(outs[k]) if k < len(outs) else Fact()
            shape = _merged(fact.shape, after.shape)
            if shape != fact.shape:
                fact.shape, changed = shape, True
        if not changed:
            return
    for tensor, fact in states:
        facts.set(tensor, Fact(fact.dtype))
    _forget(facts, body)


def _forget(facts: Facts, body: Graph) -> None:
    for inner in body.nodes:
        facts.forget(inner.outputs)


def loop(facts: Facts, node: Node) -> list[Fact]:
    body = node.attrs.get("body")
    carried = node.inputs[2:]
    if not isinstance(body, Graph) or len(body.inputs) != len(carried) + 2 or len(body.outputs) < 1 + len(carried):
        return [Fact() for _ in node.outputs]
    facts.set(body.inputs[0], Fact(INT64, ()))
    facts.set(body.inputs[1], Fact(BOOL, ()))
    states = [(t, Fact(facts.dtype(v), facts.shape(v))) for t, v in zip(body.inputs[2:], carried, strict=True)]
    _settle(facts, body, states, body.outputs[1:])
    results = [Fact(fact.dtype, fact.shape) for _, fact in states]
    for tensor in body.outputs[1 + len(carried) :]:
        each = facts.of(tensor)
        results.append(Fact(each.dtype, None if each.shape is None else (fresh(), *each.shape)))
    return [results[k] if k < len(results) else Fact() for k in range(len(node.outputs))]


def scan(facts: Facts, node: Node) -> list[Fact]:
    body, count = node.attrs.get("body"), node.attrs.get("num_scan_inputs", 0)
    n_states = len(node.inputs) - count
    if not isinstance(body, Graph) or len(body.inputs) != len(node.inputs) or n_states < 0 or facts.opset(node) < 9:
        return [Fact() for _ in node.outputs]
    axes = node.attrs.get("scan_input_axes") or [0] * count
    length: Dim = fresh()
    for tensor, outer, axis in zip(body.inputs[n_states:], node.inputs[n_states:], axes, strict=True):
        fact = facts.of(outer)
        shape = fact.shape
        if shape is not None and shape:
            length = shape[axis]
            axis %= len(shape)
            shape = shape[:axis] + shape[axis + 1 :]
        facts.set(tensor, Fact(fact.dtype, shape))
    states = [
        (t, Fact(facts.dtype(v), facts.shape(v)))
        for t, v in zip(body.inputs[:n_states], node.inputs[:n_states], strict=True)
    ]
    _settle(facts, body, states, body.outputs)
    results = [Fact(fact.dtype, fact.shape) for _, fact in states]
    out_axes = node.attrs.get("scan_output_axes") or [0] * (len(body.outputs) - n_states)
    for tensor, axis in zip(body.outputs[n_states:], out_axes, strict=True):
        each = facts.of(tensor)
        shape = None
        if each.shape is not None:
            axis %= len(each.shape) + 1
            shape = (*each.shape[:axis], length, *each.shape[axis:])
        results.append(Fact(each.dtype, shape))
    return [results[k] if k < len(results) else Fact() for k in range(len(node.outputs))]


CONTROL: dict[str, Callable[[Any, Node], list[Fact]]] = {"If": if_, "Loop": loop, "Scan": scan}
