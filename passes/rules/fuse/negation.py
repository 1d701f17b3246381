from __future__ import annotations

from typing import Any

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region


class FuseNegation(Rewrite):
    """Take a negation into the addition, subtraction, product or quotient that reads it.

    What    x + (−z)  becomes  x − z;  x − (−z) becomes x + z;  (−x)·(−z) becomes x·z.
    Why     One pass less.
    When    Nothing else reads the negation.
    Not     A single negated factor, which would only move.
    Safety  EXACT: IEEE subtraction is addition of the negation.
    Source  IEEE 754.
    """

    id = "fuse-negation"
    roots = ("Add", "Sub", "Mul", "Div")
    BEFORE = """ g (float[2,3] x, float[2,3] z) => (float[2,3] y) { a = Neg (z)  y = Add (x, a) } """
    AFTER = """ g (float[2,3] x, float[2,3] z) => (float[2,3] y) { y = Sub (x, z) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        if len(node.inputs) != 2 or (region.opset < 7 and node.attrs.get("broadcast", 0)):
            return None
        negations: list[Any] = [region.producer(t, "Neg") for t in node.inputs]
        if any(n is not None and not region.only_read_by(n.outputs[0], node) for n in negations):
            return None
        a, b = (n.inputs[0] if n is not None else t for n, t in zip(negations, node.inputs, strict=True))
        first, second = (n is not None for n in negations)
        if node.op in ("Mul", "Div"):
            if not (first and second):
                return None
            op, inputs = node.op, [a, b]
        elif node.op == "Sub":
            if not second or first:
                return None
            op, inputs = "Add", [a, b]
        elif first and second:
            return None
        elif first or second:
            op, inputs = "Sub", [b, a] if first else [a, b]
        else:
            return None
        patch = self.patch(region, node, *(n for n in negations if n is not None))
        patch.add(op, inputs, out=node.outputs[0])
        return patch
