from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.dims import Shape
from passes.patch import Patch
from passes.region import Region


class EliminateNoopReshape(Rewrite):
    """Remove a Reshape, Flatten, Expand or Tile that leaves the shape as it is.

    What    y = Reshape(x, shape of x)  becomes  x.
    Why     Exporters write them around layers that once needed them.
    When    The result has the shape of the input: every size equal as a number or as an expression.
    Not     A changed rank ([3] to [1, 3]), or sizes that are equal only by declaration.
    Safety  EXACT: the same elements in the same order.
    Source  ONNX Reshape, Flatten, Expand, Tile.
    """

    id = "eliminate-noop-reshape"
    roots = ("Reshape", "Flatten", "Expand", "Tile", "Squeeze", "Unsqueeze", "CenterCropPad")
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) <int64[2] s = {2, 3}, int64[2] one = {1, 1}> {
        a = Reshape (x, s)  b = Expand (a, s)  c = Tile (b, one)  d = Flatten (c)  y = Relu (d) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = Relu (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        x, y = region.shape(node.inputs[0]), region.shape(node.outputs[0])
        if x is None or y is None or not same_shape(x, y):
            return None
        patch = self.patch(region, node)
        patch.replace(node.outputs[0], node.inputs[0])
        return patch


def same_shape(a: Shape | None, b: Shape | None) -> bool:
    """Whether two shapes are equal on every run."""
    return a is not None and b is not None and a == b
