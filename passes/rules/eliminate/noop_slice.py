from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region


class EliminateNoopSlice(Rewrite):
    """Remove a Slice that keeps everything.

    What    y = Slice(x, 0, ∞)  becomes  x.
    Why     "All of this axis" is how exporters write x[:, :].
    When    All steps are 1, and the result has the sizes of the input or each axis runs from its begin to past its end.
    Not     Negative steps; bounds that are not constant.
    Safety  EXACT: nothing is cut.
    Source  ONNX Slice.
    """

    id = "eliminate-noop-slice"
    roots = ("Slice",)
    BEFORE = """ g (float[8,9] x) => (float[8,9] y) <int64[1] s = {0}, int64[1] e = {9223372036854775807}, int64[1] a = {0}> {
        b = Slice (x, s, e, a)  y = Relu (b) } """
    AFTER = """ g (float[8,9] x) => (float[8,9] y) { y = Relu (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        if region.has(node, 4):
            steps = region.ints(node, 4)
            if steps is None or any(s != 1 for s in steps):
                return None
        if not self._everything(node, region):
            return None
        patch = self.patch(region, node)
        patch.replace(node.outputs[0], node.inputs[0])
        return patch

    def _everything(self, node: Node, region: Region) -> bool:
        x, y = region.shape(node.inputs[0]), region.shape(node.outputs[0])
        if x is not None and x == y:
            return True
        starts, ends = region.ints(node, 1, "starts"), region.ints(node, 2, "ends")
        return (
            starts is not None
            and ends is not None
            and all(s == 0 for s in starts)
            and all(e >= 2**31 - 1 for e in ends)
        )
