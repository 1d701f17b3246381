from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exec.ir import Constant, Graph, Node, Opaque
from exec.program import attribute_value
from passes.base import Refusal, Rewrite
from passes.patch import Patch, merging
from passes.region import Region
from passes.rules.fold.constants import RANDOM


class MergeCommonSubexpressions(Rewrite):
    """Compute the same thing once.

    What    a = Exp(x), b = Exp(x)  become  one Exp that both readers read.
    Why     Exporters repeat what the source code repeats.
    When    The same op, attributes and inputs, in the same graph.
    Not     Random ops; nodes with subgraphs; a second graph output, which needs its own name.
    Safety  EXACT: the same node.
    Source  Common subexpression elimination.
    """

    id = "merge-common-subexpressions"
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) { a = Exp (x)  b = Exp (x)  y = Add (a, b) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { a = Exp (x)  y = Add (a, a) } """

    def find(self, region: Region) -> Iterator[Patch | Refusal]:
        seen: dict[Any, Node] = {}
        for node in region.nodes():
            if not region.is_plain(node) or node.op in RANDOM or not node.inputs or not region.alive(node):
                continue
            if node.inputs[0].name and len(node.inputs[0].outputs) < 2:
                # a twin would read it, too
                continue
            key = signature(node)
            if key is None:
                continue
            twin = seen.setdefault(key, node)
            if twin is node or not region.alive(twin):
                seen[key] = node
                continue
            found = self._merge(node, twin, region)
            if found is not None:
                yield found

    def _merge(self, node: Node, twin: Node, region: Region) -> Patch | Refusal | None:
        pairs = [(a, b) for a, b in zip(node.outputs, twin.outputs, strict=True) if a.name]
        if any(not b.name for _, b in pairs):
            return None
        if all(merging(region, a, b) for a, b in pairs):
            patch = self.patch(region, node, twin)
            for a, b in pairs:
                patch.replace(a, b)
            return patch
        return Refusal("its value and its twin's are both graph outputs", node)


def signature(node: Node) -> tuple[Any, ...] | None:
    """What makes two nodes the same; None for a node that has no twin."""
    attrs = []
    for name, value in sorted(node.attrs.items()):
        if isinstance(value, (Graph, Opaque)):
            return None
        if isinstance(value, Constant):
            array = attribute_value(value, node)
            value = (str(array.dtype), array.shape, array.tobytes())
        elif isinstance(value, list):
            value = tuple(value)
        attrs.append((name, type(value).__name__, repr(value) if isinstance(value, float) else value))
    inputs = tuple(id(t) if t.name or isinstance(t, Constant) else 0 for t in node.inputs)
    return node.op, len(node.outputs), inputs, tuple(attrs)
