from __future__ import annotations

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.region import Region
from passes.rules.fuse.factors import product_of
from passes.rules.fuse.linear import FLOATS, affine_of, times


def _halves_gelu(node: Node, region: Region) -> bool:
    """Whether a product has 1 + erf(…) or 1 + tanh(…) among its factors."""
    for factor in product_of(node, region).factors:
        added = region.producer(factor, "Add")
        if added is not None and any(region.producer(t, "Erf", "Tanh") is not None for t in added.inputs):
            return True
    return False


class FuseBeforeMatMul(Rewrite):
    """Fold a multiplication in front of a MatMul or Gemm into its constant weight.

    What    MatMul(x·k, W)  becomes  MatMul(x, k·W), with k one number or one per row of W.
    Why     Removes one read and write of the activation: scaled attention, embeddings, normalized features.
    When    k and W are constant, and only this product reads x·k.
    Not     Additions, and a k that varies over positions. The ½ of a GELU: runtimes recognise it by that.
    Safety  ROUNDING: the same reals, multiplied in another order.
    Source  Algebra.
    """

    id = "fuse-before-matmul"
    safety = Safety.ROUNDING
    roots = ("MatMul", "Gemm")
    BEFORE = (
        """ g (float[2,3] x) => (float[2,4] y) <float[3,4] w, float k = {0.5}> { a = Mul (x, k)  y = MatMul (a, w) } """
    )
    AFTER = """ g (float[2,3] x) => (float[2,4] y) <float[3,4] w> { y = MatMul (x, w) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        before = region.producer(node.inputs[0], "Mul", "Div")
        if before is None or (node.op == "Gemm" and node.attrs.get("transA", 0)):
            return None
        if _halves_gelu(before, region):
            return Refusal("it is the half of a GELU, which runtimes recognise by it", before)
        weight, rank = region.constant(node.inputs[1]), region.rank(before.outputs[0])
        if weight is None or weight.ndim != 2 or weight.dtype.name not in FLOATS or rank is None or rank < 2:
            return None
        flipped = node.op == "Gemm" and node.attrs.get("transB", 0)
        rows = weight.shape[1 if flipped else 0]
        for x in before.inputs:
            if region.is_constant(x) or region.shape(x) != region.shape(before.outputs[0]):
                continue
            affine = affine_of(before, x, rows, rank - 1, rank, region)
            if affine is None or isinstance(affine, Refusal) or affine.scale is None or affine.shift is not None:
                return None
            if not region.only_read_by(before.outputs[0], node):
                return Refusal(f"the output of {before.name or before.op} is also read elsewhere", before)
            scale = affine.scale.reshape((1, -1) if flipped else (-1, 1))
            patch = self.patch(region, node, before)
            scaled = patch.constant(times(weight, scale, scale.shape), node.inputs[1].name)
            patch.add(node.op, [x, scaled, *node.inputs[2:]], node.attrs, out=node.outputs[0])
            return patch
        return None
