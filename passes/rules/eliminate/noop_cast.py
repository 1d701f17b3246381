from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region


class EliminateNoopCast(Rewrite):
    """Remove a Cast to the type a value already has.

    What    y = Cast<to = T>(x of type T)  becomes  x.
    Why     Exporters cast "to be sure".
    When    The type of x is known.
    Not     Where the type is only guessed.
    Safety  EXACT: nothing is computed.
    Source  ONNX Cast.
    """

    id = "eliminate-noop-cast"
    roots = ("Cast", "CastLike")
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) { a = Cast <to = 1> (x)  y = Relu (a) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = Relu (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        before, after = region.dtype(node.inputs[0]), region.dtype(node.outputs[0])
        if before is None or before != after:
            return None
        patch = self.patch(region, node)
        patch.replace(node.outputs[0], node.inputs[0])
        return patch
