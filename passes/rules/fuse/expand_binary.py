from __future__ import annotations

from typing import Any

from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.patch import Patch
from passes.region import Region
from passes.rules.eliminate.noop_shape import same_shape
from passes.shapes.elementwise import broadcast

BROADCASTING = (
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Pow",
    "Equal",
    "Less",
    "Greater",
    "LessOrEqual",
    "GreaterOrEqual",
    "And",
    "Or",
    "Xor",
    "Where",
    "Max",
    "Min",
)


class FuseExpandIntoBroadcast(Rewrite):
    """Leave out an Expand in front of an op that broadcasts by itself.

    What    Add(Expand(x, shape of z), z)  becomes  Add(x, z).
    Why     The expanded copy is never needed.
    When    Without the Expand, the result has the same shape, as numbers or as expressions.
    Not     Where the Expand is what gives the result its size.
    Safety  EXACT: broadcasting reads the same elements.
    Source  ONNX broadcasting.
    """

    id = "fuse-expand-into-broadcast"
    roots = BROADCASTING
    BEFORE = """ g (float[2,1] x, float[2,3] z) => (float[2,3] y) <int64[2] s = {2, 3}> { a = Expand (x, s)  y = Add (a, z) } """
    AFTER = """ g (float[2,1] x, float[2,3] z) => (float[2,3] y) { y = Add (x, z) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        if region.opset < 8:
            return None
        inputs: list[Any] = list(node.inputs)
        near: Refusal | None = None
        moved: list[Node] = []
        for k, tensor in enumerate(inputs):
            before = region.producer(tensor, "Expand")
            if before is None:
                continue
            trial = [*inputs[:k], before.inputs[0], *inputs[k + 1 :]]
            shapes = [region.shape(t) for t in trial]
            if all(s is not None for s in shapes) and same_shape(
                broadcast([s for s in shapes if s is not None]), region.shape(node.outputs[0])
            ):
                inputs = trial
                moved.append(before)
            else:
                near = Refusal(f"without {before.name or 'the Expand'} the result may be smaller", before)
        if not moved:
            return near
        patch = self.patch(region, node, *moved)
        patch.add(node.op, inputs, node.attrs, out=node.outputs[0])
        return patch
