from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.read import reduce_axes
from passes.region import Region
from passes.write import squeeze

PLAIN = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")


class EliminateNoopReduce(Rewrite):
    """Remove a reduction over axes of size 1, and global pooling of a 1×1 map.

    What    y = ReduceMean<axes = [1]>(x[N, 1, C])  becomes  x (a Squeeze without keepdims).
    Why     One element is its own sum, mean, maximum and product.
    When    Every reduced size is known to be 1.
    Not     Norms and logarithms, which change even one element.
    Safety  EXACT: nothing is added up.
    Source  ONNX ReduceSum.
    """

    id = "eliminate-noop-reduce"
    roots = (*PLAIN, "GlobalAveragePool", "GlobalMaxPool")
    BEFORE = """ g (float[2,1,3] x) => (float[2,1,3] y) { a = ReduceMean <axes = [1]> (x)  y = Relu (a) } """
    AFTER = """ g (float[2,1,3] x) => (float[2,1,3] y) { y = Relu (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        x = region.shape(node.inputs[0])
        if x is None:
            return None
        axes = list(range(2, len(x))) if node.op.startswith("Global") else reduce_axes(node, region)
        if axes is None or any(x[a] != 1 for a in axes):
            return None
        patch = self.patch(region, node)
        if node.op.startswith("Global") or node.attrs.get("keepdims", 1) or not axes:
            patch.replace(node.outputs[0], node.inputs[0])
        else:
            squeeze(patch, node.inputs[0], axes, out=node.outputs[0])
        return patch
