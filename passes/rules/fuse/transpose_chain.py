from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.read import perm_of
from passes.region import Region
from passes.rules.fold.reshape_target import constant_target
from passes.write import reshape, transpose


class FuseTransposeChain(Rewrite):
    """Merge two Transposes in a row into one, or into none.

    What    Transpose(Transpose(x, p), q)  becomes  Transpose(x, p∘q).
    Why     Each is a copy.
    When    Always; where the first has other readers it stays for them.
    Not     -
    Safety  EXACT: the same elements.
    Source  Composition of permutations.
    """

    id = "fuse-transpose-chain"
    roots = ("Transpose",)
    BEFORE = """ g (float[2,3,4] x) => (float[2,3,4] y) {
        a = Transpose <perm = [2, 0, 1]> (x)  b = Transpose <perm = [1, 2, 0]> (a)  y = Relu (b) } """
    AFTER = """ g (float[2,3,4] x) => (float[2,3,4] y) { y = Relu (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        inner = region.producer(node.inputs[0], "Transpose")
        if inner is None:
            return None
        p, q = perm_of(inner, region), perm_of(node, region)
        if p is None or q is None or len(p) != len(q):
            return None
        composed = [p[i] for i in q]
        patch = self.patch(region, node, inner)
        if composed == list(range(len(composed))):
            patch.replace(node.outputs[0], inner.inputs[0])
        else:
            transpose(patch, inner.inputs[0], composed, out=node.outputs[0])
        return patch


class ReplaceTransposeByReshape(Rewrite):
    """Write a Transpose that only moves axes of size 1 as a Reshape.

    What    Transpose(x[1, 3, 1, 4], [0, 2, 1, 3])  becomes  Reshape(x, [1, 1, 3, 4]).
    Why     The elements stay in their order; a Reshape costs nothing and merges with others.
    When    The axes whose sizes are not known to be 1 keep their order.
    Not     Where two sizes would have to be inferred.
    Safety  EXACT: the same elements in the same order.
    Source  ONNX Transpose.
    """

    id = "replace-transpose-by-reshape"
    roots = ("Transpose",)
    BEFORE = (
        """ g (float[1,3,1,4] x) => (float[1,1,3,4] y) { a = Transpose <perm = [0, 2, 1, 3]> (x)  y = Relu (a) } """
    )
    AFTER = """ g (float[1,3,1,4] x) => (float[1,1,3,4] y) <int64[4] s = {1, 1, 3, 4}> { a = Reshape (x, s)  y = Relu (a) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        x, perm = region.shape(node.inputs[0]), perm_of(node, region)
        if x is None or perm is None or len(perm) != len(x) or perm == sorted(perm):
            return None
        wide = [p for p in perm if x[p] != 1]
        if wide != sorted(wide):
            return None
        target = constant_target(x, tuple(x[p] for p in perm))
        if target is None:
            return None
        patch = self.patch(region, node)
        reshape(patch, node.inputs[0], target, out=node.outputs[0])
        return patch
