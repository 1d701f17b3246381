from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region


class EliminateInvolution(Rewrite):
    """Remove two ops in a row that undo each other: Neg(Neg(x)), Not(Not(x)), BitwiseNot(BitwiseNot(x)).

    What    y = Neg(Neg(x))  becomes  x.
    Why     Left over when a subtraction is written as the addition of a negation.
    When    Always.
    Not     Reciprocal(Reciprocal(x)), which rounds twice.
    Safety  EXACT: the sign bit flips twice.
    Source  Algebra.
    """

    id = "eliminate-involution"
    roots = ("Neg", "Not", "BitwiseNot")
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) { a = Neg (x)  b = Neg (a)  y = Relu (b) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = Relu (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        inner = region.producer(node.inputs[0], node.op)
        if inner is None:
            return None
        patch = self.patch(region, node, inner)
        patch.replace(node.outputs[0], inner.inputs[0])
        return patch
