from __future__ import annotations

from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.dims import Dim, Shape
from passes.patch import Patch
from passes.region import Region


class FoldReshapeTarget(Rewrite):
    """Give a Reshape a constant target, with 0 for copied sizes and -1 for one computed size.

    What    Reshape(x, Concat(Gather(Shape(x), 0), 12)) of x[N, 3, 4]  becomes  Reshape(x, [0, 12]).
    Why     The nodes that compute the target go, and the Reshape can be moved, merged and planned.
    When    Every output size is a number, the size of the same axis of x, or the one that is left.
    Not     Two or more sizes that are neither.
    Safety  EXACT: the same shape.
    Source  ONNX Reshape: 0 copies, -1 is inferred.
    """

    id = "fold-reshape-target"
    roots = ("Reshape",)
    BEFORE = """ g (float[N,M,12] x) => (float[N,M,3,4] y) <int64 one = {1}, int64 nil = {0}, int64[1] zero = {0}, int64[2] k = {3, 4}> {
        s = Shape (x)  a = Gather (s, nil)  b = Gather (s, one)  c = Unsqueeze (a, zero)  d = Unsqueeze (b, zero)
        e = Concat <axis = 0> (c, d, k)  y = Reshape (x, e) } """
    AFTER = """ g (float[N,M,12] x) => (float[N,M,3,4] y) <int64[4] e = {0, 0, 3, 4}> { y = Reshape (x, e) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        if len(node.inputs) < 2 or region.constant(node.inputs[1]) is not None:
            return None
        x, out = region.shape(node.inputs[0]), region.shape(node.outputs[0])
        if out is None:
            return None
        target = constant_target(x, out)
        if target is None:
            unknown = [str(d) for i, d in enumerate(out) if not isinstance(d, int) and not _copied(x, i, d)]
            return Refusal(f"{len(unknown)} of its sizes are not known before the run", node)
        patch = self.patch(region, node)
        attrs = {k: v for k, v in node.attrs.items() if k != "allowzero"}
        patch.add("Reshape", [node.inputs[0], patch.ints(target, node.inputs[1].name)], attrs, out=node.outputs[0])
        return patch


def _copied(x: Shape | None, axis: int, d: Dim) -> bool:
    return x is not None and axis < len(x) and x[axis] == d


def constant_target(x: Shape | None, out: Shape) -> list[int] | None:
    """The target that makes `out` of `x`, or None where two sizes would have to be inferred."""
    target: list[int] = []
    for axis, d in enumerate(out):
        if isinstance(d, int):
            if d == 0:
                return None
            target.append(d)
        else:
            target.append(0 if _copied(x, axis, d) else -1)
    return target if target.count(-1) <= 1 else None
