from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.dims import Dim
from passes.patch import Patch
from passes.pattern import ANY, Match, any_, op
from passes.read import axis_of
from passes.region import Region
from passes.rules.fuse.slice_chain import cuts_of

_SANDWICH = op("Reshape", op("Transpose", op("Reshape", any_("x"), ANY, as_="open"), as_="turn"), ANY)


class FuseDepthToSpace(Rewrite):
    """Recognise DepthToSpace (pixel shuffle) and SpaceToDepth written as Reshape, Transpose, Reshape.

    What    [N, C·r·r, H, W] → [N, C, r, r, H, W] → [N, C, H, r, W, r] → [N, C, H·r, W·r]  becomes  DepthToSpace<mode = "CRD">.
    Why     One pass instead of one copy and two views; runtimes know it.
    When    The shapes say so for certain; mode CRD needs opset 11.
    Not     Other permutations.
    Safety  EXACT: the same elements.
    Source  ONNX DepthToSpace; Shi et al. 2016 (arXiv 1609.05158).
    """

    id = "fuse-depth-to-space"
    pattern = _SANDWICH
    BEFORE = """ g (float[1,8,3,3] x) => (float[1,2,6,6] y) <int64[6] s = {1,2,2,2,3,3}, int64[4] t = {1,2,6,6}> {
        a = Reshape (x, s)  b = Transpose <perm = [0, 1, 4, 2, 5, 3]> (a)  y = Reshape (b, t) } """
    AFTER = """ g (float[1,8,3,3] x) => (float[1,2,6,6] y) { y = DepthToSpace <blocksize = 2, mode = "CRD"> (x) } """

    def rewrite(self, match: Match, region: Region) -> Patch | None:
        x = region.shape(match["x"])
        opened, out = region.shape(match["open"].outputs[0]), region.shape(match.root.outputs[0])
        perm = match["turn"].attrs.get("perm")
        if (
            x is None
            or opened is None
            or out is None
            or len(x) != 4
            or len(opened) != 6
            or len(out) != 4
            or perm is None
        ):
            return None
        found = _depth_to_space(x, opened, list(perm), out) or _space_to_depth(x, opened, list(perm), out)
        if found is None or (found[1].get("mode") == "CRD" and region.opset < 11):
            return None
        patch = self.patch(region, match.root, match["open"], match["turn"])
        patch.add(found[0], [match["x"]], found[1], out=match.root.outputs[0])
        return patch


Found = tuple[str, dict[str, object]]


def _depth_to_space(x: tuple[Dim, ...], s: tuple[Dim, ...], perm: list[int], out: tuple[Dim, ...]) -> Found | None:
    if perm == [0, 1, 4, 2, 5, 3]:
        mode, r, depth = "CRD", s[2], (s[1], s[2], s[3])
    elif perm == [0, 3, 4, 1, 5, 2]:
        mode, r, depth = "DCR", s[1], (s[3], s[1], s[2])
    else:
        return None
    if not isinstance(r, int) or depth[1:] != (r, r) or s[0] != x[0] or s[4:] != x[2:]:
        return None
    if depth[0] * r * r != x[1] or out != (x[0], depth[0], x[2] * r, x[3] * r):
        return None
    attrs: dict[str, object] = {"blocksize": r}
    if mode == "CRD":
        attrs["mode"] = mode
    return "DepthToSpace", attrs


def _space_to_depth(x: tuple[Dim, ...], s: tuple[Dim, ...], perm: list[int], out: tuple[Dim, ...]) -> Found | None:
    r = s[3]
    if perm != [0, 3, 5, 1, 2, 4] or not isinstance(r, int) or s[5] != r or s[:2] != x[:2]:
        return None
    if s[2] * r != x[2] or s[4] * r != x[3] or out != (x[0], x[1] * r * r, s[2], s[4]):
        return None
    return "SpaceToDepth", {"blocksize": r}


class FuseSlicesToSpaceToDepth(Rewrite):
    """Recognise SpaceToDepth written as strided Slices joined by a Concat.

    What    Concat(x[::2, ::2], x[1::2, ::2], x[::2, 1::2], x[1::2, 1::2])  becomes  SpaceToDepth<2>(x), and a Gather where the order differs.
    Why     One pass over x instead of one per part.
    When    All r² parts, along the channels of a 4-axis value whose channels are known; all run to the end.
    Not     Missing parts.
    Safety  EXACT: the same elements.
    Source  ONNX SpaceToDepth; the "focus" layer of YOLO.
    """

    id = "fuse-slices-to-space-to-depth"
    roots = ("Concat",)
    BEFORE = """ g (float[1,3,4,4] x) => (float[1,12,2,2] y) <int64[2] s00 = {0,0}, int64[2] s10 = {1,0}, int64[2] s01 = {0,1}, int64[2] s11 = {1,1},
        int64[2] e = {99,99}, int64[2] ax = {2,3}, int64[2] st = {2,2}> {
        a = Slice (x, s00, e, ax, st)  b = Slice (x, s01, e, ax, st)  c = Slice (x, s10, e, ax, st)  d = Slice (x, s11, e, ax, st)
        y = Concat <axis = 1> (a, b, c, d) } """
    AFTER = """ g (float[1,3,4,4] x) => (float[1,12,2,2] y) { y = SpaceToDepth <blocksize = 2> (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        first = region.producer(node.inputs[0], "Slice")
        r = round(len(node.inputs) ** 0.5)
        if first is None or r < 2 or r * r != len(node.inputs) or axis_of(node, region, 1) != 1:
            return None
        x = first.inputs[0]
        shape = region.shape(x)
        if shape is None or len(shape) != 4 or not isinstance(shape[1], int):
            return None
        order: list[int] = []
        slices: list[Node] = []
        for tensor in node.inputs:
            part = region.producer(tensor, "Slice")
            place = None if part is None or part.inputs[0] is not x else _place(part, r, shape, region)
            if part is None or place is None:
                return None
            order.append(place)
            slices.append(part)
        if sorted(order) != list(range(r * r)):
            return None
        patch = self.patch(region, node, *dict.fromkeys(slices))
        if order == sorted(order):
            patch.add("SpaceToDepth", [x], {"blocksize": r}, out=node.outputs[0])
        else:
            whole = patch.add("SpaceToDepth", [x], {"blocksize": r})
            channels = [place * shape[1] + c for place in order for c in range(shape[1])]
            patch.add(
                "Gather",
                [whole, patch.ints(channels, f"{node.outputs[0].name}_order")],
                {"axis": 1},
                out=node.outputs[0],
            )
        return patch


def _place(part: Node, r: int, shape: tuple[Dim, ...], region: Region) -> int | None:
    """Which of the r² offsets a Slice takes, counted as SpaceToDepth does; None if it is not such a Slice."""
    cuts = cuts_of(part, region)
    if cuts is None or set(cuts) != {2, 3}:
        return None
    offsets = []
    for axis in (2, 3):
        start, end, step = cuts[axis]
        size = shape[axis]
        to_the_end = end >= 2**31 - 1 or (isinstance(size, int) and end >= size)
        if step != r or not 0 <= start < r or not to_the_end or (isinstance(size, int) and size % r):
            return None
        offsets.append(start)
    return offsets[0] * r + offsets[1]
