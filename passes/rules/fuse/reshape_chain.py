from __future__ import annotations

from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.dims import known
from passes.patch import Patch
from passes.region import Region
from passes.rules.fold.reshape_target import constant_target
from passes.write import reshape

VIEWS = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")


class FuseReshapeChain(Rewrite):
    """Merge Reshape, Flatten, Squeeze and Unsqueeze in a row into one Reshape.

    What    Reshape(Reshape(x, a), b)  becomes  Reshape(x, b).
    Why     Only the last shape matters.
    When    The last shape can be written as one constant target for x.
    Not     A pair of only Squeeze or only Unsqueeze with open sizes: those merge by their axes.
    Safety  EXACT: the same elements in the same order.
    Source  ONNX Reshape.
    """

    id = "fuse-reshape-chain"
    roots = VIEWS
    BEFORE = """ g (float[2,3,4] x) => (float[24] y) <int64[2] s = {6, 4}, int64[1] t = {24}> {
        a = Reshape (x, s)  b = Reshape (a, t)  y = Relu (b) } """
    AFTER = """ g (float[2,3,4] x) => (float[24] y) <int64[1] t = {24}> { b = Reshape (x, t)  y = Relu (b) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        inner = region.producer(node.inputs[0], *VIEWS)
        if inner is None:
            return None
        x, out = inner.inputs[0], region.shape(node.outputs[0])
        before = region.shape(x)
        if out is not None and before is not None and before == out:
            patch = self.patch(region, node, inner)
            patch.replace(node.outputs[0], x)
            return patch
        target = None if out is None else constant_target(before, out)
        if target is None:
            target = _free_target(node, region)
        if target is None:
            return Refusal("the last shape cannot be written as one constant target", node)
        patch = self.patch(region, node, inner)
        reshape(patch, x, target, out=node.outputs[0])
        return patch


def _free_target(node: Node, region: Region) -> list[int] | None:
    """The target of a Reshape that says nothing about its input: no copied sizes."""
    if node.op != "Reshape" or node.attrs.get("allowzero", 0):
        return None
    target = region.ints(node, 1, "shape")
    return None if target is None or 0 in target else target


class ReplaceViewByReshape(Rewrite):
    """Write a Flatten of fixed sizes as a Reshape.

    What    Flatten(x[2, 3, 4])  becomes  Reshape(x, [2, 12]).
    Why     One op for one thing; it merges with its neighbours.
    When    All sizes of the result are known. Only in preset "aggressive".
    Not     Open sizes, where Flatten says more.
    Safety  EXACT: the same elements in the same order.
    Source  ONNX Flatten.
    """

    id = "replace-flatten"
    roots = ("Flatten",)
    BEFORE = """ g (float[2,3,4] x) => (float[2,12] y) { y = Flatten (x) } """
    AFTER = """ g (float[2,3,4] x) => (float[2,12] y) <int64[2] s = {2, 12}> { y = Reshape (x, s) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        out = region.shape(node.outputs[0])
        if out is None or not known(out) or region.opset < 5:
            return None
        patch = self.patch(region, node)
        reshape(patch, node.inputs[0], [int(str(d)) for d in out], out=node.outputs[0])
        return patch
