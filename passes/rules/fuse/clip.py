from __future__ import annotations

import math
from typing import Any

import numpy as np

from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.patch import Patch
from passes.read import clip_bounds
from passes.region import Region
from passes.rules.eliminate.neutral import keeps_shape
from passes.write import clip

HOLDERS = ("Clip", "Relu", "Min", "Max")
Held = tuple[Any, float, float]
"""(input, low, high)"""


class FuseClip(Rewrite):
    """Merge two operations that hold a value between bounds: Relu, Clip, Min and Max with a number.

    What    Clip(Relu(x), -1, 0.5)  becomes  Clip(x, 0, 0.5);  Max(Min(x, h), l) becomes Clip(x, l, h).
    Why     One pass instead of two.
    When    All bounds are single constants and nothing else reads what lies between.
    Not     Bounds per channel; types that Clip does not take in this opset (other than float32 before opset 12).
    Safety  EXACT: the same comparisons.
    Source  Intervals: holding between (l₁, h₁), then (l₂, h₂), is holding between the first's bounds held by the second's.
    """

    id = "fuse-clip"
    roots = HOLDERS
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) <float l = {-1}, float h = {0.5}> { a = Relu (x)  y = Clip (a, l, h) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) <float l = {0}, float h = {0.5}> { y = Clip (x, l, h) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        outer = _held(node, region)
        if outer is None:
            return None
        middle, low, high = outer
        inner_node = region.producer(middle, *HOLDERS)
        inner = None if inner_node is None else _held(inner_node, region)
        if inner_node is None or inner is None:
            return None
        if not region.only_read_by(middle, node):
            return Refusal(f"the output of {inner_node.name or inner_node.op} is also read elsewhere", inner_node)
        x, inner_low, inner_high = inner
        dtype = region.dtype(x)
        if dtype is None or dtype.kind not in "fiu" or (region.opset < 12 and dtype != np.float32):
            return Refusal(f"Clip does not take {dtype} in opset {region.opset}", node)
        if dtype.kind in "iu" and any(abs(v) > 2**53 for v in (low, high, inner_low, inner_high) if not math.isinf(v)):
            return None
        low, high = max(low, min(inner_low, high)), min(high, max(inner_high, low))
        if low > high:
            return None
        patch = self.patch(region, node, inner_node)
        if (low, high) == (0.0, math.inf) and (dtype.kind == "f" or region.opset >= 14):
            patch.add("Relu", [x], out=node.outputs[0])
        else:
            clip(patch, x, None if low == -math.inf else low, None if high == math.inf else high, out=node.outputs[0])
        return patch


def _held(node: Node, region: Region) -> Held | None:
    """What `node` holds between which numbers."""
    if node.op == "Relu":
        return node.inputs[0], 0.0, math.inf
    if node.op == "Clip":
        bounds = clip_bounds(node, region) if region.opset >= 6 else None
        if bounds is None:
            return None
        low = -math.inf if bounds[0] is None else float(bounds[0])
        high = math.inf if bounds[1] is None else float(bounds[1])
        return (node.inputs[0], low, high) if low <= high else None
    if len(node.inputs) != 2 or region.opset < 8:
        return None
    for k in (0, 1):
        bound = region.scalar(node.inputs[k]) if region.is_constant(node.inputs[k]) else None
        x = node.inputs[1 - k]
        if bound is not None and not math.isnan(bound) and keeps_shape(x, node.inputs[k], node, region):
            return (x, -math.inf, bound) if node.op == "Min" else (x, bound, math.inf)
    return None
