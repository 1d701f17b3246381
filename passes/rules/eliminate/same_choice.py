from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region
from passes.rules.eliminate.noop_shape import same_shape


class EliminateSameChoice(Rewrite):
    """Remove a Where whose choice is known or makes no difference, and a Max, Min, And or Or of a value with itself.

    What    Where(true, x, z)  becomes  x;  Where(c, x, x) and Max(x, x) become x.
    Why     What options that are off leave behind.
    When    The condition is one constant value throughout, or both sides are the same value; the shape stays.
    Not     Where broadcasting makes the result larger.
    Safety  EXACT: the same elements.
    Source  ONNX Where.
    """

    id = "eliminate-same-choice"
    roots = ("Where", "Max", "Min", "And", "Or", "BitwiseAnd", "BitwiseOr")
    BEFORE = """ g (float[2,3] x, float[2,3] z) => (float[2,3] y) <bool c = {1}> { a = Where (c, x, z)  b = Max (a, a)  y = Relu (b) } """
    AFTER = """ g (float[2,3] x, float[2,3] z) => (float[2,3] y) { y = Relu (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        if node.op != "Where":
            kept = node.inputs[0] if len(node.inputs) == 2 and node.inputs[0] is node.inputs[1] else None
        elif node.inputs[1] is node.inputs[2]:
            kept = node.inputs[1]
        else:
            condition = region.constant(node.inputs[0])
            if condition is None or not condition.size or bool(condition.any()) != bool(condition.all()):
                return None
            kept = node.inputs[1 if condition.all() else 2]
        if kept is None or not same_shape(region.shape(kept), region.shape(node.outputs[0])):
            return None
        patch = self.patch(region, node)
        patch.replace(node.outputs[0], kept)
        return patch
