from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region


class EliminateSingleInput(Rewrite):
    """Remove a Concat, Sum, Mean, Max or Min of one input, and a Split into one output.

    What    y = Concat(x)  becomes  x.
    Why     What is left when the other inputs have been removed.
    When    One input, or one output of a Split.
    Not     Two or more.
    Safety  EXACT: nothing is computed.
    Source  ONNX Concat, Sum, Split.
    """

    id = "eliminate-single-input"
    roots = ("Concat", "Sum", "Mean", "Max", "Min", "Split")
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) { a = Concat <axis = 0> (x)  b = Sum (a)  c = Split <axis = 0> (b)  y = Relu (c) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = Relu (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        if len(node.outputs) != 1 or (node.op != "Split" and len(node.inputs) != 1):
            return None
        if node.op == "Split" and region.shape(node.inputs[0]) != region.shape(node.outputs[0]):
            return None
        patch = self.patch(region, node)
        patch.replace(node.outputs[0], node.inputs[0])
        return patch
