from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region
from passes.write import slice_

Cut = tuple[int, int, int]
"""(start, end, step)"""


class FuseSliceChain(Rewrite):
    """Merge two Slices in a row into one.

    What    Slice(Slice(x, axis 0), axis 1)  becomes  Slice(x, axes 0 and 1); the same axis with step 1 too.
    Why     One copy instead of two.
    When    All bounds are constant, nothing else reads the inner one; of one axis, both count from the front with step 1.
    Not     The same axis with other steps, or bounds from the end.
    Safety  EXACT: the same elements.
    Source  ONNX Slice.
    """

    id = "fuse-slice-chain"
    roots = ("Slice",)
    BEFORE = """ g (float[8,9] x) => (float[4,4] y) <int64[1] s = {1}, int64[1] e = {5}, int64[1] a0 = {0}, int64[1] a1 = {1}, int64[1] st = {1}> {
        a = Slice (x, s, e, a0, st)  b = Slice (a, s, e, a1, st)  y = Relu (b) } """
    AFTER = """ g (float[8,9] x) => (float[4,4] y) <int64[2] s = {1, 1}, int64[2] e = {5, 5}, int64[2] a = {0, 1}> {
        b = Slice (x, s, e, a)  y = Relu (b) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        inner = region.producer(node.inputs[0], "Slice")
        if inner is None or not region.only_read_by(inner.outputs[0], node):
            return None
        first, second = cuts_of(inner, region), cuts_of(node, region)
        if first is None or second is None:
            return None
        merged = dict(first)
        for axis, cut in second.items():
            if axis not in merged:
                merged[axis] = cut
                continue
            joined = _joined(merged[axis], cut)
            if joined is None:
                return None
            merged[axis] = joined
        patch = self.patch(region, node, inner)
        axes = sorted(merged)
        starts, ends, steps = ([merged[a][k] for a in axes] for k in range(3))
        slice_(patch, inner.inputs[0], starts, ends, axes, steps, out=node.outputs[0])
        return patch


def _joined(first: Cut, second: Cut) -> Cut | None:
    """Two cuts of one axis with step 1 and bounds from the front as one."""
    (s1, e1, t1), (s2, e2, t2) = first, second
    if t1 != 1 or t2 != 1 or min(s1, e1, s2, e2) < 0:
        return None
    return s1 + s2, max(s1 + s2, min(e1, s1 + e2)), 1


def cuts_of(node: Node, region: Region) -> dict[int, Cut] | None:
    """What a Slice with constant bounds cuts from each axis, counted from the front."""
    starts, ends = region.ints(node, 1, "starts"), region.ints(node, 2, "ends")
    if starts is None or ends is None:
        return None
    axes = region.ints(node, 3, "axes")
    if axes is None:
        if region.has(node, 3):
            return None
        axes = list(range(len(starts)))
    steps = region.ints(node, 4) if region.has(node, 4) else [1] * len(starts)
    if steps is None:
        return None
    if any(a < 0 for a in axes):
        rank = region.rank(node.inputs[0])
        if rank is None:
            return None
        axes = [a % rank for a in axes]
    if len(set(axes)) != len(axes):
        return None
    return {a: (s, e, t) for a, s, e, t in zip(axes, starts, ends, steps, strict=True)}
