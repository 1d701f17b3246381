from __future__ import annotations

from typing import Any

import numpy as np

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.region import Region
from passes.rules.fuse.linear import FLOATS, Affine, Linear

VIEWS = ("Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten")


class MoveScaleToWeight(Rewrite):
    """Multiply a constant weight instead of what is made with it, through views and a bias.

    What    Mul(Transpose(Reshape(MatMul(x, W) + b)), k)  becomes  Transpose(Reshape(MatMul(x, W·k) + b·k)).
    Why     The scale of attention queries and keys costs nothing as part of the projection.
    When    k is one number; the way up consists of Reshape, Transpose and kin, each with one reader; W and b are constants.
    Not     A k per channel, which a view would move to another axis.
    Safety  ROUNDING: the same reals, multiplied in another order.
    Source  A number commutes with everything that is linear.
    """

    id = "move-scale-to-weight"
    safety = Safety.ROUNDING
    roots = ("Mul", "Div")
    BEFORE = """ g (float[2,5,3] x) => (float[2,4,5] y) <float[3,4] w, float[4] b, float k = {0.5}> {
        a = MatMul (x, w)  c = Add (a, b)  t = Transpose <perm = [0, 2, 1]> (c)  y = Mul (t, k) } """
    AFTER = """ g (float[2,5,3] x) => (float[2,4,5] y) <float[3,4] w, float[4] b> {
        a = MatMul (x, w)  c = Add (a, b)  y = Transpose <perm = [0, 2, 1]> (c) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        found = scaled_by(node, region)
        if found is None:
            return None
        factor, value = found
        views: list[Node] = []
        reader = node
        while True:
            maker = region.producer(value, *VIEWS)
            if maker is None:
                break
            if not region.only_read_by(value, reader):
                return None
            views.append(maker)
            value, reader = maker.inputs[0], maker
        if not views or not region.only_read_by(value, reader):
            return None
        return self._fold(node, views, value, factor, region)

    def _fold(self, node: Node, views: list[Node], value: Any, factor: float, region: Region) -> Patch | Refusal | None:
        added = region.producer(value, "Add")
        side = None if added is None else next((k for k in (0, 1) if region.is_constant(added.inputs[k])), None)
        top = value if added is None or side is None else added.inputs[1 - side]
        layer = region.producer(top, "MatMul", "Gemm", "Conv")
        if layer is None or (added is not None and side is not None and not region.only_read_by(top, added)):
            return None
        linear = Linear.of(layer, region)
        if not isinstance(linear, Linear):
            return linear
        patch = self.patch(
            region, node, layer, *([added] if added is not None and layer.outputs[0] is not value else []), *views
        )
        scale = np.full(linear.channels, factor, np.float64)
        current = patch.fresh_variable(f"{layer.outputs[0].name}_scaled")
        linear.write(patch, Affine(scale, None), current)
        if added is not None and side is not None and layer.outputs[0] is not value:
            bias = region.constant(added.inputs[side])
            if bias is None or bias.dtype.name not in FLOATS:
                return None
            moved = patch.constant((bias.astype(np.float64) * factor).astype(bias.dtype), added.inputs[side].name)
            current = patch.add("Add", [current, moved] if side else [moved, current])
        for view in reversed(views):
            last = view is views[0]
            current = patch.add(view.op, [current, *view.inputs[1:]], view.attrs, out=node.outputs[0] if last else None)
        return patch


def scaled_by(node: Node, region: Region) -> tuple[float, Any] | None:
    """The number a Mul or Div multiplies by, and what it multiplies."""
    for k in (1, 0) if node.op == "Mul" else (1,):
        if len(node.inputs) == 2 and region.is_constant(node.inputs[k]):
            value, rank = region.scalar(node.inputs[k]), region.rank(node.inputs[k])
            other = region.rank(node.inputs[1 - k])
            if value and rank is not None and other is not None and rank <= other:
                return (value if node.op == "Mul" else 1 / value), node.inputs[1 - k]
    return None
