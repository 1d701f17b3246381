from __future__ import annotations

from typing import Any

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region
from passes.rules.fuse.slice_chain import cuts_of


class FuseShapeWindow(Rewrite):
    """Ask Shape for the sizes that are wanted, instead of all and then some.

    What    Gather(Shape(x), [1])  becomes  Shape<start = 1, end = 2>(x);  a Slice of a Shape likewise.
    Why     One node less where the Shape has no other reader.
    When    Opset 15; a range of axes in order; the Shape itself reports all axes, and only such nodes read it.
    Not     Single sizes without an axis of their own, and axes out of order.
    Safety  EXACT: the same numbers.
    Source  ONNX Shape-15.
    """

    id = "fuse-shape-window"
    needs = 15
    roots = ("Gather", "Slice")
    BEFORE = """ g (float[N,3,M] x) => (int64[2] y) <int64[1] s = {1}, int64[1] e = {3}> { a = Shape (x)  y = Slice (a, s, e) } """
    AFTER = """ g (float[N,3,M] x) => (int64[2] y) { y = Shape <start = 1, end = 3> (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        shape = region.producer(node.inputs[0], "Shape")
        if shape is None or shape.attrs or region.is_output(shape.outputs[0]):
            return None
        rank = region.rank(shape.inputs[0])
        if rank is None or any(_window(r, rank, region) is None for r in region.readers(shape.outputs[0])):
            return None
        found = _window(node, rank, region)
        if found is None:
            return None
        attrs: dict[str, Any] = {"start": found[0]} if found[0] else {}
        if found[1] < rank:
            attrs["end"] = found[1]
        elif "start" not in attrs:
            return None
        patch = self.patch(region, node, shape)
        patch.add("Shape", [shape.inputs[0]], {**attrs, "end": found[1]}, out=node.outputs[0])
        return patch


def _window(node: Node, rank: int, region: Region) -> tuple[int, int] | None:
    """The range of axes that `node` takes from a shape, if it is one."""
    if not region.is_plain(node, "Gather", "Slice"):
        return None
    if node.op == "Slice":
        cuts = cuts_of(node, region)
        if cuts is None or set(cuts) != {0} or cuts[0][2] != 1:
            return None
        start, stop, _ = slice(*cuts[0][:2]).indices(rank)
        return (start, stop) if start < stop else None
    index = region.constant(node.inputs[1])
    if index is None or index.ndim != 1 or not index.size:
        return None
    axes = [int(i) % rank for i in index]
    return (axes[0], axes[-1] + 1) if axes == list(range(axes[0], axes[0] + len(axes))) else None
