from __future__ import annotations

from typing import Any

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.read import axis_of
from passes.region import Region


class FuseConcatChain(Rewrite):
    """Merge a Concat into the Concat that reads it.

    What    Concat(Concat(a, b), c)  becomes  Concat(a, b, c).
    Why     Each element is copied once instead of twice.
    When    The same axis, and nothing else reads the inner one.
    Not     Different axes; an inner Concat read twice, which would be copied twice.
    Safety  EXACT: the same elements in the same order.
    Source  ONNX Concat.
    """

    id = "fuse-concat-chain"
    roots = ("Concat",)
    BEFORE = """ g (float[2,3] x) => (float[6,3] y) { a = Concat <axis = 0> (x, x)  b = Concat <axis = 0> (a, x)  y = Relu (b) } """
    AFTER = """ g (float[2,3] x) => (float[6,3] y) { b = Concat <axis = 0> (x, x, x)  y = Relu (b) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        axis = axis_of(node, region, 1)
        inputs: list[Any] = []
        merged: list[Node] = []
        for tensor in node.inputs:
            inner = region.producer(tensor, "Concat")
            own = None if inner is None else axis_of(inner, region, 1)
            if (
                inner is not None
                and axis is not None
                and own == axis
                and len(tensor.outputs) == 1
                and region.only_read_by(tensor, node)
            ):
                inputs.extend(inner.inputs)
                merged.append(inner)
            else:
                inputs.append(tensor)
        if not merged:
            return None
        patch = self.patch(region, node, *merged)
        patch.add("Concat", inputs, {"axis": axis}, out=node.outputs[0])
        return patch
