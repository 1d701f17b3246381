from __future__ import annotations

from typing import Any

from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.patch import Patch
from passes.region import Region
from passes.rules.eliminate.noop_shape import same_shape

NEUTRAL = {
    "Add": 0,
    "Sub": 0,
    "Mul": 1,
    "Div": 1,
    "Pow": 1,
    "Or": 0,
    "And": 1,
    "Xor": 0,
    "BitwiseOr": 0,
    "BitwiseXor": 0,
    "BitShift": 0,
}
BOTH_SIDES = frozenset({"Add", "Mul", "Or", "And", "Xor", "BitwiseOr", "BitwiseXor"})


class EliminateNeutral(Rewrite):
    """Remove arithmetic with the neutral element: x·1, x + 0, x / 1, x - 0, x¹, `x or false`.

    What    y = Mul(x, 1)  becomes  x.
    Why     Written by exporters for options that are off.
    When    The constant is neutral in every element, and broadcasting it does not change the shape of x.
    Not     A constant that widens x ([3] times ones[2, 3]); a constant of another type.
    Safety  EXACT: the same value (-0.0 + 0.0 is 0.0: equal, though the sign bit differs).
    Source  Algebra.
    """

    id = "eliminate-neutral"
    roots = tuple(NEUTRAL)
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) <float one = {1}, float nil = {0}> {
        a = Mul (x, one)  b = Add (nil, a)  c = Div (b, one)  d = Sub (c, nil)  y = Relu (d) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = Relu (x) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        if len(node.inputs) != 2:
            return None
        for k in (1, 0) if node.op in BOTH_SIDES else (1,):
            if self._neutral(node.op, node.inputs[k], region):
                x = node.inputs[1 - k]
                if region.is_constant(x):
                    return None
                if not keeps_shape(x, node.inputs[k], node, region):
                    return Refusal(f"{node.inputs[k].name} may change the shape by broadcasting", node)
                if region.dtype(x) is None or region.dtype(x) != region.dtype(node.outputs[0]):
                    return None
                patch = self.patch(region, node)
                patch.replace(node.outputs[0], x)
                return patch
        return None

    def _neutral(self, op: str, tensor: Any, region: Region) -> bool:
        if not region.is_constant(tensor):
            return False
        array = region.constant(tensor)
        return array is not None and array.size > 0 and array.dtype != object and bool((array == NEUTRAL[op]).all())


def keeps_shape(x: Any, other: Any, node: Node, region: Region) -> bool:
    """Whether the result of broadcasting `x` with `other` has the shape of `x`."""
    if same_shape(region.shape(x), region.shape(node.outputs[0])):
        return True
    shape, rank = region.shape(other), region.rank(x)
    if shape is None or any(d != 1 for d in shape):
        return False
    return len(shape) == 0 or (rank is not None and len(shape) <= rank)
