from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.read import reduce_axes, squeeze_axes, unsqueeze_axes
from passes.region import Region
from passes.rules.eliminate.noop_shape import same_shape
from passes.shapes.reduction import REDUCTIONS


class FuseReduceSqueeze(Rewrite):
    """Let a reduction keep or drop its axes itself.

    What    Unsqueeze(ReduceSum<keepdims = 0>(x, a), a)  becomes  ReduceSum<keepdims = 1>(x, a);  with Squeeze the other way round.
    Why     One node less.
    When    The same axes, and nothing else reads the reduction. Also ArgMax and ArgMin; a Reshape counts where it does the same.
    Not     Other axes.
    Safety  EXACT: the same sums.
    Source  ONNX ReduceSum.
    """

    id = "fuse-reduce-squeeze"
    roots = ("Squeeze", "Unsqueeze", "Reshape")
    BEFORE = """ g (float[2,3] x) => (float[2,1] y) <int64[1] s = {1}> { a = ReduceSum <keepdims = 0> (x, s)  y = Unsqueeze (a, s) } """
    AFTER = """ g (float[2,3] x) => (float[2,1] y) <int64[1] s = {1}> { y = ReduceSum <keepdims = 1> (x, s) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        reduction = region.producer(node.inputs[0], *REDUCTIONS, "ArgMax", "ArgMin")
        if reduction is None or not region.only_read_by(reduction.outputs[0], node):
            return None
        axes = self._axes(reduction, region)
        keep = bool(reduction.attrs.get("keepdims", 1))
        if not axes or not self._undoes(node, reduction, axes, keep, region):
            return None
        patch = self.patch(region, node, reduction)
        attrs = {**reduction.attrs, "keepdims": 0 if keep else 1}
        patch.add(reduction.op, list(reduction.inputs), attrs, out=node.outputs[0])
        return patch

    def _axes(self, reduction: Node, region: Region) -> list[int] | None:
        if not reduction.op.startswith("Arg"):
            return reduce_axes(reduction, region)
        rank = region.rank(reduction.inputs[0])
        return None if rank is None else [int(reduction.attrs.get("axis", 0)) % rank]

    def _undoes(self, node: Node, reduction: Node, axes: list[int], keep: bool, region: Region) -> bool:
        """Whether `node` puts in the axes the reduction dropped, or takes out the ones it kept."""
        if node.op == "Unsqueeze":
            return not keep and unsqueeze_axes(node, region) == axes
        if node.op == "Squeeze":
            return keep and squeeze_axes(node, region) == axes
        x = region.shape(reduction.inputs[0])
        if x is None:
            return False
        other = (
            tuple(d for i, d in enumerate(x) if i not in axes)
            if keep
            else tuple(1 if i in axes else d for i, d in enumerate(x))
        )
        return same_shape(other, region.shape(node.outputs[0]))
