from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region
from passes.shapes.elementwise import SAME


class MoveShapeUp(Rewrite):
    """Ask for the shape of a value before an op that keeps the shape.

    What    Shape(Cast(x))  becomes  Shape(x).
    Why     If nothing else reads the Cast, it need not run.
    When    The op keeps its first input's shape, and only Shape or Size read its result.
    Not     Where the result is needed anyway.
    Safety  EXACT: the same shape.
    Source  ONNX Shape.
    """

    id = "move-shape-up"
    roots = ("Shape", "Size")
    BEFORE = """ g (float[N,3] x) => (int64[2] y) { a = Cast <to = 10> (x)  y = Shape (a) } """
    AFTER = """ g (float[N,3] x) => (int64[2] y) { y = Shape (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        before = region.producer(node.inputs[0], *KEEPING)
        if before is None or region.is_output(before.outputs[0]) or len(before.outputs) != 1:
            return None
        if any(r.op not in ("Shape", "Size") for r in region.readers(before.outputs[0])):
            return None
        patch = self.patch(region, node, before)
        patch.add(node.op, [before.inputs[0]], node.attrs, out=node.outputs[0])
        return patch


KEEPING = tuple(op for op in SAME if op != "EyeLike")
