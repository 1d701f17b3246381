from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region


class EliminateNoopPad(Rewrite):
    """Remove a Pad that adds nothing.

    What    y = Pad(x, zeros)  becomes  x.
    Why     A full copy for nothing.
    When    Every pad is 0.
    Not     Pads that are not constant.
    Safety  EXACT: nothing is added.
    Source  ONNX Pad.
    """

    id = "eliminate-noop-pad"
    roots = ("Pad",)
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) <int64[4] p = {0, 0, 0, 0}> { a = Pad (x, p)  y = Relu (a) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = Relu (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        pads = region.ints(node, 1, "pads")
        if pads is None or any(pads):
            return None
        patch = self.patch(region, node)
        patch.replace(node.outputs[0], node.inputs[0])
        return patch
