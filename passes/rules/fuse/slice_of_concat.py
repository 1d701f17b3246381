from __future__ import annotations

from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.patch import Patch
from passes.read import axis_of
from passes.region import Region
from passes.rules.fuse.slice_chain import cuts_of
from passes.write import slice_


class FuseSliceOfConcat(Rewrite):
    """Take a part of a Concat from the input it comes from.

    What    Slice(Concat(a, b), the rows of a)  becomes  a, or a Slice of a.
    Why     What was just joined is taken apart again.
    When    One axis, step 1, and the range lies within one input, by known sizes.
    Not     Ranges across inputs; open sizes before the range.
    Safety  EXACT: the same elements.
    Source  ONNX Concat, Slice.
    """

    id = "fuse-slice-of-concat"
    roots = ("Slice",)
    BEFORE = """ g (float[2,3] x, float[2,3] z) => (float[2,3] y) <int64[1] s = {0}, int64[1] e = {2}, int64[1] ax = {0}> {
        a = Concat <axis = 0> (x, z)  b = Slice (a, s, e, ax)  y = Relu (b) } """
    AFTER = """ g (float[2,3] x, float[2,3] z) => (float[2,3] y) { y = Relu (x) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        concat = region.producer(node.inputs[0], "Concat")
        cuts = None if concat is None else cuts_of(node, region)
        if concat is None or cuts is None or len(cuts) != 1:
            return None
        ((axis, (start, end, step)),) = cuts.items()
        if axis_of(concat, region, 1) != axis or step != 1 or start < 0:
            return None
        total = region.dim(concat.outputs[0], axis)
        if end < 0:
            if not isinstance(total, int):
                return Refusal("the size of the joined axis is not known", node)
            end += total
        if isinstance(total, int):
            end = min(end, total)
        offset = 0
        for tensor in concat.inputs:
            size = region.dim(tensor, axis)
            if not isinstance(size, int):
                return Refusal(f"the size of {tensor.name} along axis {axis} is not known", node)
            if offset <= start and end <= offset + size and start < end:
                patch = self.patch(region, node, concat)
                if (start, end) == (offset, offset + size):
                    patch.replace(node.outputs[0], tensor)
                else:
                    slice_(patch, tensor, [start - offset], [end - offset], [axis], out=node.outputs[0])
                return patch
            offset += size
        return None
