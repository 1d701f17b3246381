from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region


class FuseSequence(Rewrite):
    """Take a value from where it was before it was put into a sequence.

    What    SequenceAt(SequenceConstruct(a, b), 1)  becomes  b;  ConcatFromSequence(SequenceConstruct(a, b)) becomes Concat(a, b).
    Why     Sequences hide their elements from every other rule and from most runtimes' fusions.
    When    The sequence is made at once, and the position is constant.
    Not     Positions that are computed; sequences that are changed in between.
    Safety  EXACT: the same values.
    Source  ONNX SequenceConstruct.
    """

    id = "fuse-sequence"
    roots = ("SequenceAt", "ConcatFromSequence")
    BEFORE = """ g (float[2,3] x, float[2,3] z) => (float[2,3] y) <int64 i = {-1}> {
        s = SequenceConstruct (x, z)  a = SequenceAt (s, i)  y = Relu (a) } """
    AFTER = """ g (float[2,3] x, float[2,3] z) => (float[2,3] y) { y = Relu (z) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        made = region.producer(node.inputs[0], "SequenceConstruct")
        if made is None:
            return None
        parts = list(made.inputs)
        patch = self.patch(region, node, made)
        if node.op == "SequenceAt":
            position = region.scalar(node.inputs[1])
            if position is None or not -len(parts) <= position < len(parts):
                return None
            patch.replace(node.outputs[0], parts[int(position)])
        else:
            if node.attrs.get("new_axis", 0):
                return None
            patch.add("Concat", parts, {"axis": node.attrs["axis"]}, out=node.outputs[0])
        return patch
