"""Which node of B is which node of A: by provenance, by structure, by name, then along the wires.

Names may all have changed, so structure comes first: a node's fingerprint covers its operator, its attributes and what flows into
it from the graph's inputs and weights. Below a change fingerprints differ; there names, fingerprints towards the outputs and
matched neighbours decide.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict, deque
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from exec.dtypes import dtype_name
from exec.errors import ExternalDataError
from exec.ir import Constant, Graph, Node
from exec.ir.streaming import sampled
from workbench.detail import default_texts, origin_of, value_text


def align(before: Graph, after: Graph) -> dict[int, int]:
    """position in `after.nodes` → position in `before.nodes`, one to one."""
    matched = _Pairs(before.nodes, after.nodes)
    matched.by_key(_forward(before), _forward(after))
    matched.by_key(
        [(n.op, n.domain, n.name) if n.name else None for n in before.nodes],
        [(n.op, n.domain, n.name) if n.name else None for n in after.nodes],
    )
    matched.by_key([_outputs(n) for n in before.nodes], [_outputs(n) for n in after.nodes])
    matched.by_key(_backward(before), _backward(after))
    matched.spread()
    return matched.to_before


def sources(before: Graph, after: Graph, pairs: Mapping[int, int]) -> dict[int, tuple[int, ...]]:
    """position in `after` → the positions in `before` it stands for, recorded provenance first."""
    by_name = {n.name: k for k, n in enumerate(before.nodes) if n.name}
    found = {}
    for k, node in enumerate(after.nodes):
        recorded = [by_name[name] for name in origin_of(node) if name in by_name]
        if recorded:
            found[k] = tuple(recorded)
        elif k in pairs:
            found[k] = (pairs[k],)
    return found


class _Pairs:
    def __init__(self, before: Sequence[Node], after: Sequence[Node]) -> None:
        self.before, self.after = before, after
        self.to_before: dict[int, int] = {}
        self.to_after: dict[int, int] = {}
        self.place_before = {id(n): k for k, n in enumerate(before)}
        self.place_after = {id(n): k for k, n in enumerate(after)}

    def add(self, a: int, b: int) -> bool:
        """Pair two nodes that are free and of one operator."""
        if a in self.to_after or b in self.to_before or self.before[a].op != self.after[b].op:
            return False
        self.to_after[a], self.to_before[b] = b, a
        return True

    def by_key(self, before: Sequence[Hashable], after: Sequence[Hashable]) -> None:
        """Pair nodes of equal key; equal ones among themselves in order, if there are as many on both sides."""
        left, right = defaultdict(list), defaultdict(list)
        for k, key in enumerate(before):
            if key is not None and k not in self.to_after:
                left[key].append(k)
        for k, key in enumerate(after):
            if key is not None and k not in self.to_before:
                right[key].append(k)
        for key, places in left.items():
            if len(places) == len(right.get(key, ())):
                for a, b in zip(places, right[key], strict=True):
                    self.add(a, b)

    def spread(self) -> None:
        """Pair the producers and readers of paired nodes, place by place, until nothing changes."""
        pending = deque(self.to_after.items())
        while pending:
            a, b = pending.popleft()
            one, other = self.before[a], self.after[b]
            candidates = [
                (self._producer(s, self.place_before), self._producer(t, self.place_after))
                for s, t in zip(one.inputs, other.inputs, strict=False)
            ]  # fmt: skip
            for s, t in zip(one.outputs, other.outputs, strict=False):
                candidates += self._readers(s, t)
            for x, y in candidates:
                if x is not None and y is not None and self.add(x, y):
                    pending.append((x, y))

    @staticmethod
    def _producer(tensor: Any, place: Mapping[int, int]) -> int | None:
        return place.get(id(tensor.inputs[0])) if tensor.inputs else None

    def _readers(self, s: Any, t: Any) -> list[tuple[int | None, int | None]]:
        """Readers of the same operator at the same place, when each side has one."""
        left: dict[Any, list[int | None]] = defaultdict(list)
        right: dict[Any, list[int | None]] = defaultdict(list)
        for side, tensor, place in ((left, s, self.place_before), (right, t, self.place_after)):
            for node in tensor.outputs:
                slot = next(k for k, x in enumerate(node.inputs) if x is tensor)
                side[node.op, slot].append(place.get(id(node)))
        return [(nodes[0], right[key][0]) for key, nodes in left.items() if len(nodes) == 1 == len(right.get(key, ()))]


def _outputs(node: Node) -> Hashable:
    names = tuple(t.name for t in node.outputs)
    return (node.op, names) if any(names) else None


def _digest(*parts: object) -> bytes:
    return hashlib.blake2b("\x00".join(map(str, parts)).encode("utf-8", "surrogateescape"), digest_size=12).digest()


def _forward(graph: Graph) -> list[bytes]:
    """A fingerprint from the graph's inputs down to each node."""
    known: dict[int, object] = {id(t): ("input", k) for k, t in enumerate(graph.inputs)}
    out = []
    for node in graph.nodes:
        inputs = [known.get(id(t)) or _of_constant(t) for t in node.inputs]
        mark = _digest(node.op, node.domain, attributes_key(node, graph.opset), *inputs)
        out.append(mark)
        for k, tensor in enumerate(node.outputs):
            known[id(tensor)] = (mark, k)
    return out


def _backward(graph: Graph) -> list[bytes]:
    """A fingerprint from the graph's outputs up to each node."""
    final = {id(t): k for k, t in enumerate(graph.outputs)}
    marks: dict[int, bytes] = {}
    for node in reversed(graph.nodes):
        uses = []
        for k, tensor in enumerate(node.outputs):
            readers = sorted(
                (marks.get(id(n), b""), next(s for s, t in enumerate(n.inputs) if t is tensor)) for n in tensor.outputs
            )
            uses.append((k, final.get(id(tensor)), readers))
        marks[id(node)] = _digest(node.op, node.domain, attributes_key(node, graph.opset), uses)
    return [marks[id(n)] for n in graph.nodes]


def attributes_key(node: Node, opset: int) -> str:
    """The attributes as one text; their order and those that only say the default aside."""
    if not node.attrs:
        return ""
    assumed = default_texts(node.op, "", opset) if not node.domain else {}
    said = (
        (name, _attribute(value, opset))
        for name, value in sorted(node.attrs.items())
        if assumed.get(name) != value_text(value)
    )
    return "\x01".join(f"{name}={text}" for name, text in said)


def _attribute(value: Any, opset: int) -> str:
    if isinstance(value, Graph):
        return "graph:" + ",".join(f"{n.op}:{attributes_key(n, opset)}" for n in value.nodes)
    if isinstance(value, Constant):
        return str(_of_constant(value))
    return repr(value)


def _of_constant(tensor: Any) -> object:
    """Type, shape and a sample of the bytes; an outer or missing value has none."""
    if not isinstance(tensor, Constant):
        return "outer" if tensor.name else "none"
    try:
        return dtype_name(tensor.dtype), tuple(tensor.shape), sampled(tensor._values)
    except ExternalDataError:
        return dtype_name(tensor.dtype), tuple(tensor.shape), tensor.name
