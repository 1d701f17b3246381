from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.read import is_uniform
from passes.region import Region
from passes.rules.eliminate.noop_shape import same_shape


class EliminateNoopResize(Rewrite):
    """Remove a Resize or Upsample by a factor of 1, and a pool of one element.

    What    y = Resize(x, scales = 1)  becomes  x;  MaxPool<kernel_shape = [1, 1]>(x) too.
    Why     It reads and writes the whole map to change nothing.
    When    All scales are exactly 1, or the sizes are those of x; a pool with kernel 1, stride 1 and no padding.
    Not     A scale such as 1.1 that happens to keep the size of a small map: it moves samples. tf_crop_and_resize.
    Safety  EXACT: each sample maps to itself.
    Source  ONNX Resize, MaxPool.
    """

    id = "eliminate-noop-resize"
    roots = ("Resize", "Upsample", "MaxPool", "AveragePool")
    BEFORE = """ g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[4] s = {1, 1, 1, 1}> {
        a = Resize (x, , s)  b = MaxPool <kernel_shape = [1, 1]> (a)  y = Relu (b) } """
    AFTER = """ g (float[1,2,3,3] x) => (float[1,2,3,3] y) { y = Relu (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        if any(not region.is_unread(t) for t in node.outputs[1:]):
            return None
        if not (self._unit_pool(node) if node.op.endswith("Pool") else self._unit_scale(node, region)):
            return None
        patch = self.patch(region, node)
        patch.replace(node.outputs[0], node.inputs[0])
        return patch

    def _unit_pool(self, node: Node) -> bool:
        attrs = node.attrs
        return (
            all(k == 1 for k in attrs.get("kernel_shape", [0]))
            and all(s == 1 for s in attrs.get("strides", [1]))
            and not any(attrs.get("pads", []))
        )

    def _unit_scale(self, node: Node, region: Region) -> bool:
        if node.attrs.get("coordinate_transformation_mode") == "tf_crop_and_resize":
            return False
        if region.has(node, 3):
            sized = node.attrs.get("keep_aspect_ratio_policy", "stretch") == "stretch"
            return sized and same_shape(region.shape(node.inputs[0]), region.shape(node.outputs[0]))
        at = 1 if node.op == "Upsample" or region.opset < 11 else 2
        if node.op == "Upsample" and region.opset < 9:
            return all(s == 1 for s in node.attrs.get("scales", [0]))
        scales = region.constant(node.inputs[at]) if region.has(node, at) else None
        return scales is not None and is_uniform(scales, 1)
