from __future__ import annotations

from typing import Any

from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.dims import known
from passes.patch import Patch
from passes.region import Region
from passes.rules.fuse.reshape_chain import VIEWS
from passes.rules.move.transpose_down import UNARY

MIXING = ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min")


class MoveReshapeToConstant(Rewrite):
    """Reshape the constant a small computation starts from instead of its result.

    What    Reshape(Cast(Floor(k / s)), [1, C, 1, 1])  becomes  Cast(Floor(reshaped k / s)).
    Why     The reshaped constant is folded: a node less. Quantized biases are written this way.
    When    A chain of element-by-element ops with single numbers leads to a constant, and nothing else reads what lies between.
    Not     Operands that are not single numbers.
    Safety  EXACT: the same elements in the same order.
    Source  A Reshape and an element-by-element op commute.
    """

    id = "move-reshape-to-constant"
    roots = VIEWS
    BEFORE = """ g (float s) => (float[1,3,1,1] y) <float[3] k, int64[4] t = {1, 3, 1, 1}> { a = Div (k, s)  b = Floor (a)  y = Reshape (b, t) } """
    AFTER = """ g (float s) => (float[1,3,1,1] y) <float[1,3,1,1] k> { a = Div (k, s)  y = Floor (a) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        out, inside = region.shape(node.outputs[0]), region.shape(node.inputs[0])
        if out is None or inside is None or not known(out) or out == inside:
            return None
        chain: list[tuple[Node, int]] = []
        value, reader = node.inputs[0], node
        while not region.is_constant(value):
            maker = region.producer(value)
            if maker is None or not region.only_read_by(value, reader) or region.shape(value) != inside:
                return None
            side = self._side(maker, inside, region)
            if side is None:
                return None
            chain.append((maker, side))
            value, reader = maker.inputs[side], maker
        array = region.constant(value)
        if array is None or not chain or region.shape(value) != inside:
            return None
        patch = self.patch(region, node, *(n for n, _ in chain))
        current: Any = patch.constant(array.reshape([int(str(d)) for d in out]), value.name)
        for maker, side in reversed(chain):
            inputs = [current if k == side else t for k, t in enumerate(maker.inputs)]
            last = maker is chain[0][0]
            current = patch.add(maker.op, inputs, maker.attrs, out=node.outputs[0] if last else None)
        return patch

    def _side(self, maker: Node, inside: Any, region: Region) -> int | None:
        """Which input of an element-by-element op has the full shape, where all others are numbers."""
        if maker.op in UNARY and maker.op != "Clip":
            return 0
        if maker.op not in MIXING or len(maker.inputs) != 2 or region.opset < 7:
            return None
        for k in (0, 1):
            if region.shape(maker.inputs[1 - k]) == () and region.shape(maker.inputs[k]) == inside:
                return k
        return None
