from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.read import axis_of
from passes.region import Region


class FuseConcatOfSplit(Rewrite):
    """Remove a Concat that joins what a Split took apart.

    What    Concat(Split(x))  becomes  x.
    Why     Each element is copied twice to where it was.
    When    All outputs of the Split, in order, along the same axis. Outputs may have other readers.
    Not     A part of the outputs, or another order.
    Safety  EXACT: the same elements in the same order.
    Source  ONNX Split, Concat.
    """

    id = "fuse-concat-of-split"
    roots = ("Concat",)
    BEFORE = """ g (float[4,3] x) => (float[4,3] y) <int64[2] s = {2, 2}> {
        a, b = Split <axis = 0> (x, s)  c = Concat <axis = 0> (a, b)  y = Relu (c) } """
    AFTER = """ g (float[4,3] x) => (float[4,3] y) { y = Relu (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        split = region.producer(node.inputs[0], "Split")
        if split is None or len(split.outputs) != len(node.inputs):
            return None
        if any(a is not b for a, b in zip(node.inputs, split.outputs, strict=True)):
            return None
        if axis_of(node, region, 1) != axis_of(split, region, 0):
            return None
        patch = self.patch(region, node, split)
        patch.replace(node.outputs[0], split.inputs[0])
        return patch
