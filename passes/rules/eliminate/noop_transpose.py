from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.read import perm_of
from passes.region import Region


class EliminateNoopTranspose(Rewrite):
    """Remove a Transpose that keeps every axis in its place.

    What    y = Transpose<perm = [0, 1, 2]>(x)  becomes  x.
    Why     It is a copy.
    When    The permutation is the identity.
    Not     Any other permutation.
    Safety  EXACT: nothing moves.
    Source  ONNX Transpose.
    """

    id = "eliminate-noop-transpose"
    roots = ("Transpose",)
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) { a = Transpose <perm = [0, 1]> (x)  y = Relu (a) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = Relu (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        perm = perm_of(node, region)
        if perm is None or perm != list(range(len(perm))):
            return None
        patch = self.patch(region, node)
        patch.replace(node.outputs[0], node.inputs[0])
        return patch
