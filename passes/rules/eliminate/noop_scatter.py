from __future__ import annotations

import numpy as np

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region
from passes.rules.eliminate.noop_shape import same_shape


class EliminateNoopScatter(Rewrite):
    """Remove a ScatterND that overwrites everything, and a Gather that takes everything in order.

    What    y = ScatterND(x, [[0], [1], …], u)  becomes  u.
    Why     `x[:] = u` exports to it.
    When    The indices are constant and name each row of the first axis once, in order; no reduction.
    Not     Partial, repeated or reordered indices.
    Safety  EXACT: every element comes from u.
    Source  ONNX ScatterND.
    """

    id = "eliminate-noop-scatter"
    roots = ("ScatterND", "Gather")
    BEFORE = """ g (float[2,3] x, float[2,3] u) => (float[2,3] y) <int64[2,1] i = {0, 1}> { a = ScatterND (x, i, u)  y = Relu (a) } """
    AFTER = """ g (float[2,3] x, float[2,3] u) => (float[2,3] y) { y = Relu (u) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        x = region.shape(node.inputs[0])
        indices = region.constant(node.inputs[1])
        if x is None or not x or indices is None:
            return None
        if node.op == "Gather":
            axis = int(node.attrs.get("axis", 0)) % len(x)
            if indices.ndim != 1 or not _in_order(indices, x[axis]):
                return None
            kept = node.inputs[0]
        else:
            if node.attrs.get("reduction", "none") != "none" or indices.shape[-1:] != (1,) or indices.ndim != 2:
                return None
            if not _in_order(indices.reshape(-1), x[0]) or not same_shape(x, region.shape(node.inputs[2])):
                return None
            kept = node.inputs[2]
        patch = self.patch(region, node)
        patch.replace(node.outputs[0], kept)
        return patch


def _in_order(indices: np.ndarray[tuple[int, ...], np.dtype[np.integer]], size: object) -> bool:
    return isinstance(size, int) and indices.size == size and bool((indices == np.arange(size)).all())
