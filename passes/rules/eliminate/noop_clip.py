from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.read import clip_bounds
from passes.region import Region


class EliminateNoopClip(Rewrite):
    """Remove a Clip without bounds, or with bounds that no number passes.

    What    y = Clip(x)  becomes  x.
    Why     What an option that is off leaves behind.
    When    Both bounds are absent or infinite.
    Not     The largest finite numbers as bounds: they hold back infinities.
    Safety  EXACT: nothing is held.
    Source  ONNX Clip.
    """

    id = "eliminate-noop-clip"
    finite_only = True
    roots = ("Clip",)
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) { a = Clip (x)  y = Relu (a) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = Relu (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        if region.opset < 6:
            return None
        bounds = clip_bounds(node, region)
        if bounds is None or bounds[0] not in (None, float("-inf")) or bounds[1] not in (None, float("inf")):
            return None
        patch = self.patch(region, node)
        patch.replace(node.outputs[0], node.inputs[0])
        return patch
