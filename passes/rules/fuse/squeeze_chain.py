from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.read import squeeze_axes, unsqueeze_axes
from passes.region import Region
from passes.write import squeeze, unsqueeze


class FuseSqueezeChain(Rewrite):
    """Merge Squeeze and Unsqueeze in a row by their axes, whatever the sizes.

    What    Unsqueeze(Unsqueeze(x, a), b)  becomes one Unsqueeze;  Squeeze(Unsqueeze(x, a), a) becomes x.
    Why     Only the axes of the result matter.
    When    The axes are constant.
    Not     Unsqueeze(Squeeze(x)) of other axes, which moves sizes: a Reshape does that, if they are known.
    Safety  EXACT: the same elements in the same order.
    Source  ONNX Squeeze, Unsqueeze.
    """

    id = "fuse-squeeze-chain"
    roots = ("Squeeze", "Unsqueeze")
    BEFORE = """ g (float[N,3] x) => (float[1,N,1,3] y) <int64[1] s = {0}, int64[1] t = {2}> {
        a = Unsqueeze (x, s)  b = Unsqueeze (a, t)  y = Relu (b) } """
    AFTER = """ g (float[N,3] x) => (float[1,N,1,3] y) <int64[2] s = {0, 2}> { b = Unsqueeze (x, s)  y = Relu (b) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        inner = region.producer(node.inputs[0], "Squeeze", "Unsqueeze")
        if inner is None:
            return None
        outer_axes = unsqueeze_axes(node, region) if node.op == "Unsqueeze" else squeeze_axes(node, region)
        inner_axes = unsqueeze_axes(inner, region) if inner.op == "Unsqueeze" else squeeze_axes(inner, region)
        if outer_axes is None or inner_axes is None:
            return None
        x, out = inner.inputs[0], node.outputs[0]
        patch = self.patch(region, node, inner)
        if node.op == inner.op == "Unsqueeze":
            unsqueeze(patch, x, _inserted(inner_axes, outer_axes), out=out)
        elif node.op == inner.op == "Squeeze":
            unsqueezed = _before_squeeze(inner_axes, outer_axes)
            squeeze(patch, x, unsqueezed, out=out)
        elif inner_axes == outer_axes:
            # each undoes the other; Unsqueeze(Squeeze(x)) is x because the squeezed sizes were 1
            patch.replace(out, x)
        elif node.op == "Squeeze" and set(outer_axes) <= set(inner_axes):
            left = [a - sum(o < a for o in outer_axes) for a in inner_axes if a not in outer_axes]
            unsqueeze(patch, x, left, out=out)
        elif node.op == "Squeeze" and set(inner_axes) <= set(outer_axes):
            left = [a - sum(i < a for i in inner_axes) for a in outer_axes if a not in inner_axes]
            squeeze(patch, x, left, out=out)
        else:
            return None
        return patch


def _inserted(inner: list[int], outer: list[int]) -> list[int]:
    """Axes of one Unsqueeze that inserts `inner`, then `outer`."""
    moved = []
    for axis in inner:
        for o in outer:
            if o <= axis:
                axis += 1
        moved.append(axis)
    return sorted([*moved, *outer])


def _before_squeeze(inner: list[int], outer: list[int]) -> list[int]:
    """Axes, in x, of one Squeeze that takes out `inner`, then `outer`."""
    moved = []
    for axis in outer:
        for i in inner:
            if i <= axis:
                axis += 1
        moved.append(axis)
    return sorted([*inner, *moved])
