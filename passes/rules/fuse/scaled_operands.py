from __future__ import annotations

import numpy as np

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.region import Region
from passes.rules.move.scale_to_weight import scaled_by


class FuseScaledOperands(Rewrite):
    """Scale one operand of a product instead of both.

    What    MatMul(a·s, b·t)  becomes  MatMul(a·(s·t), b).
    Why     One pass less: exporters scale queries and keys by the root of the scale each.
    When    s and t are single constants, and only the product reads the scaled operands.
    Not     Scales per channel.
    Safety  ROUNDING: the same reals, multiplied in another order.
    Source  Algebra.
    """

    id = "fuse-scaled-operands"
    safety = Safety.ROUNDING
    roots = ("MatMul",)
    BEFORE = """ g (float[2,3,4] a, float[2,4,3] b) => (float[2,3,3] y) <float s = {0.5}, float t = {0.25}> {
        c = Mul (a, s)  d = Mul (b, t)  y = MatMul (c, d) } """
    AFTER = """ g (float[2,3,4] a, float[2,4,3] b) => (float[2,3,3] y) <float s = {0.125}> { c = Mul (a, s)  y = MatMul (c, b) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        makers = [region.producer(t, "Mul", "Div") for t in node.inputs]
        if any(m is None or not region.only_read_by(m.outputs[0], node) for m in makers):
            return None
        left, right = (scaled_by(m, region) for m in makers if m is not None)
        dtype = region.dtype(node.outputs[0])
        if left is None or right is None or dtype is None or dtype.kind != "f":
            return None
        patch = self.patch(region, node, *(m for m in makers if m is not None))
        factor = patch.constant(np.array(left[0] * right[0], dtype), f"{node.outputs[0].name}_scale")
        patch.add("MatMul", [patch.add("Mul", [left[1], factor]), right[1]], out=node.outputs[0])
        return patch
