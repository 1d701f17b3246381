from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region


class EliminateEmptyConcatInput(Rewrite):
    """Leave out the inputs of a Concat that have no elements along its axis.

    What    y = Concat(x, empty)  becomes  Concat(x).
    Why     Left over from shapes that were computed piece by piece.
    When    The size along the axis is known to be 0, and at least one input stays.
    Not     Sizes that are only sometimes 0.
    Safety  EXACT: nothing was copied from there.
    Source  ONNX Concat.
    """

    id = "eliminate-empty-concat-input"
    roots = ("Concat",)
    BEFORE = """ g (float[2,3] x, float[2,3] z) => (float[4,3] y) <float[0,3] e> { y = Concat <axis = 0> (x, e, z) } """
    AFTER = """ g (float[2,3] x, float[2,3] z) => (float[4,3] y) { y = Concat <axis = 0> (x, z) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        axis = int(node.attrs.get("axis", 1))
        kept = [t for t in node.inputs if region.dim(t, axis) != 0]
        if not kept or len(kept) == len(node.inputs):
            return None
        patch = self.patch(region, node)
        patch.add("Concat", kept, node.attrs, out=node.outputs[0])
        return patch
