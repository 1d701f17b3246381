from __future__ import annotations

from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.patch import Patch, merging
from passes.region import Region


class EliminateIdentity(Rewrite):
    """Let the readers of an Identity read its input.

    What    y = Identity(x); f(y)  becomes  f(x).
    Why     A copy, or at best a node to step over.
    When    Always, for values inside the graph.
    Not     Between a graph input (or a second output) and a graph output: both names are the model's interface.
    Safety  EXACT: nothing is computed.
    Source  ONNX Identity.
    """

    id = "eliminate-identity"
    roots = ("Identity",)
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) { a = Identity(x)  b = Relu(a)  c = Identity(b)  y = Neg(c) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { b = Relu(x)  y = Neg(b) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        x, y = node.inputs[0], node.outputs[0]
        if not merging(region, y, x):
            return Refusal("its input and its output are both named by the model's interface", node)
        patch = self.patch(region, node)
        patch.replace(y, x)
        return patch
