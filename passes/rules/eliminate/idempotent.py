from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region

SETTLED = {
    "Relu": ("Relu", "Sigmoid", "Abs", "Exp", "Softmax", "Sqrt", "ReduceL1", "ReduceL2", "HardSigmoid", "Softplus"),
    "Abs": ("Abs", "Relu", "Sigmoid", "Exp", "Softmax", "Sqrt", "ReduceL1", "ReduceL2", "HardSigmoid", "Softplus"),
    "Ceil": ("Ceil", "Floor", "Round"),
    "Floor": ("Ceil", "Floor", "Round"),
    "Round": ("Ceil", "Floor", "Round"),
    "Sign": ("Sign",),
}
"""After any of these, the op changes nothing."""


class EliminateIdempotent(Rewrite):
    """Remove an op whose effect the op before it already had.

    What    Relu(Relu(x)), Abs(Exp(x)), Floor(Ceil(x))  become the inner op.
    Why     Two modules that each end, or begin, with an activation.
    When    The inner op's results lie where the outer one is the identity.
    Not     Ops whose range is not known.
    Safety  EXACT: the outer op returns its input.
    Source  Algebra.
    """

    id = "eliminate-idempotent"
    roots = tuple(SETTLED)
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) { a = Relu (x)  b = Relu (a)  y = Neg (b) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { a = Relu (x)  y = Neg (a) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        inner = region.producer(node.inputs[0], *SETTLED[node.op])
        if inner is None or inner.outputs[0] is not node.inputs[0]:
            return None
        dtype = region.dtype(node.inputs[0])
        if inner.op in ("Abs", "ReduceL1") and (dtype is None or dtype.kind == "i"):
            return None  # |−128| is −128 in int8
        if inner.op == "HardSigmoid" and region.dtype(node.inputs[0]) is None:
            return None
        patch = self.patch(region, node)
        patch.replace(node.outputs[0], node.inputs[0])
        return patch
