from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region
from passes.rules.fuse.slice_chain import cuts_of
from passes.write import split


class FuseSlicesToSplit(Rewrite):
    """Take a value apart with one Split instead of several Slices.

    What    Slice(x, :3), Slice(x, 3:)  become  Split(x, [3, …]).
    Why     One node and one pass; the parts are seen to be parts of one whole.
    When    The Slices of one axis cover it exactly, without gaps or overlap, and its size is known.
    Not     Steps other than 1; slices of several axes.
    Safety  EXACT: the same elements.
    Source  ONNX Split.
    """

    id = "fuse-slices-to-split"
    roots = ("Slice",)
    BEFORE = """ g (float[4,6] x) => (float[4,3] y) <int64[1] s0 = {0}, int64[1] s1 = {3}, int64[1] s2 = {6}, int64[1] ax = {1}> {
        a = Slice (x, s0, s1, ax)  b = Slice (x, s1, s2, ax)  y = Sub (a, b) } """
    AFTER = """ g (float[4,6] x) => (float[4,3] y) <int64[2] s = {3, 3}> { a, b = Split <axis = 1> (x, s)  y = Sub (a, b) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        x = node.inputs[0]
        own = self._range(node, region)
        if own is None:
            return None
        axis, size = own[0], region.dim(x, own[0])
        if not isinstance(size, int):
            return None
        parts: dict[tuple[int, int], Node] = {}
        for reader in region.readers(x):
            found = self._range(reader, region) if region.is_plain(reader, "Slice") and reader.inputs[0] is x else None
            if found is not None and found[0] == axis:
                parts.setdefault((found[1], found[2]), reader)
        chosen, at = [], 0
        while at < size:
            part = next((p for p in parts if p[0] == at), None)
            if part is None:
                return None
            chosen.append(part)
            at = part[1]
        nodes = [parts[p] for p in chosen]
        if len(chosen) < 2 or at != size or nodes[0] is not node:
            return None
        patch = self.patch(region, node, *nodes)
        split(patch, x, [b - a for a, b in chosen], axis, [n.outputs[0] for n in nodes])
        return patch

    def _range(self, node: Node, region: Region) -> tuple[int, int, int] | None:
        """(axis, begin, end) of a Slice of one axis of known size with step 1."""
        cuts = cuts_of(node, region)
        if cuts is None or len(cuts) != 1:
            return None
        ((axis, (start, end, step)),) = cuts.items()
        size = region.dim(node.inputs[0], axis)
        if step != 1 or not isinstance(size, int):
            return None
        begin, stop, _ = slice(start, end).indices(size)
        return (axis, begin, stop) if begin < stop else None
