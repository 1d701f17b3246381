from __future__ import annotations

from typing import Any

import numpy as np

from exec.arrays import Array
from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.region import Region
from passes.rules.fuse.linear import FLOATS

INVERSE = {"Add": "Sub", "Sub": "Add", "Mul": "Div", "Div": "Mul"}

CANCELS = 256.0
"""An addend this much larger than what is left of it takes digits away from x on purpose."""


class FuseConstantChain(Rewrite):
    """Merge two operations with constants in a row: (x·a)·b, (x + a) − b, (x / a)·b.

    What    Mul(Mul(x, a), b)  becomes  Mul(x, a·b); additions and subtractions, multiplications and divisions likewise.
    Why     One pass over the activation instead of two.
    When    Both constants are float, and nothing else reads what lies between.
    Not     Integers (a division truncates); constants whose product would be larger than the two; sums of large numbers that cancel:
            (x + 2²³) − 2²³ is there to round.
    Safety  ROUNDING: the constants are combined first.
    Source  Algebra.
    """

    id = "fuse-constant-chain"
    safety = Safety.ROUNDING
    roots = ("Add", "Sub", "Mul", "Div")
    BEFORE = (
        """ g (float[2,3] x) => (float[2,3] y) <float k = {2.5}, float j = {0.5}> { a = Mul (x, k)  y = Div (a, j) } """
    )
    AFTER = """ g (float[2,3] x) => (float[2,3] y) <float k = {5.0}> { y = Mul (x, k) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        outer = _operand(node, region)
        if outer is None:
            return None
        middle, b = outer
        inner_node = region.producer(middle, node.op, INVERSE[node.op])
        inner = None if inner_node is None else _operand(inner_node, region)
        if inner_node is None or inner is None or inner_node.outputs[0] is not middle:
            return None
        x, a = inner
        if not region.only_read_by(middle, node):
            return Refusal(f"the output of {inner_node.name or inner_node.op} is also read elsewhere", inner_node)
        if np.broadcast_shapes(a.shape, b.shape) not in (a.shape, b.shape):
            return None
        combined = _combined(inner_node.op, a, node.op, b)
        if combined is None:
            return None
        patch = self.patch(region, node, inner_node)
        op = "Add" if node.op in ("Add", "Sub") else "Mul"
        patch.add(op, [x, patch.constant(combined, f"{node.outputs[0].name}_constant")], out=node.outputs[0])
        return patch


def _operand(node: Node, region: Region) -> tuple[Any, Array] | None:
    """The variable operand and the constant, for `x op c` and the commuted forms."""
    if len(node.inputs) != 2 or (region.opset < 7 and node.attrs.get("broadcast", 0)):
        return None
    for k in (1, 0) if node.op in ("Add", "Mul") else (1,):
        if region.is_constant(node.inputs[k]) and not region.is_constant(node.inputs[1 - k]):
            array = region.constant(node.inputs[k])
            if array is not None and array.dtype.name in FLOATS:
                return node.inputs[1 - k], array
    return None


def _combined(first: str, a: Array, second: str, b: Array) -> Array | None:
    x, y = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        if second in ("Add", "Sub"):
            total = (x if first == "Add" else -x) + (y if second == "Add" else -y)
            if bool((np.maximum(abs(x), abs(y)) > CANCELS * np.maximum(abs(total), 1.0)).any()):
                return None
        else:
            total = (x if first == "Mul" else 1 / x) * (y if second == "Mul" else 1 / y)
        result: Array = total.astype(a.dtype)
    return result if bool(np.isfinite(result).all()) else None
