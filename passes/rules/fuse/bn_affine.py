from __future__ import annotations

from typing import Any

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.region import Region
from passes.rules.fuse.linear import Affine, affine_of, batch_norm, plus, rounded, times


class FuseBatchNormAffine(Rewrite):
    """Fold per-channel arithmetic after a BatchNormalization into its scale and bias.

    What    BatchNormalization(x, γ, β, μ, σ²)·k + t  becomes  BatchNormalization(x, γ·k, β·k + t, μ, σ²).
    Why     Caffe writes a normalization and a scale as two layers; where no Conv stands before them, one is left instead of three.
    When    γ, β, k and t are constants, and nothing else reads what lies between.
    Not     Training mode; numbers that vary over positions.
    Safety  ROUNDING: the same reals in another order.
    Source  Algebra.
    """

    id = "fuse-bn-affine"
    safety = Safety.ROUNDING
    roots = ("Mul", "Div", "Add", "Sub", "BatchNormalization")
    BEFORE = """ g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2] scale, float[2] b, float[2] mean, float[2] var, float[2,1,1] k, float[2,1,1] t> {
        n = BatchNormalization (x, scale, b, mean, var)  m = Mul (n, k)  y = Add (m, t) } """
    AFTER = """ g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2] scale, float[2] b, float[2] mean, float[2] var> {
        y = BatchNormalization (x, scale, b, mean, var) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        for x in node.inputs[:1] if node.op == "BatchNormalization" else node.inputs[:2]:
            norm = region.producer(x, "BatchNormalization")
            if norm is not None and norm.outputs[0] is x:
                return self._fuse(node, x, norm, region)
        return None

    def _fuse(self, node: Node, x: Any, norm: Node, region: Region) -> Patch | Refusal | None:
        scale, bias, rank = region.constant(norm.inputs[1]), region.constant(norm.inputs[2]), region.rank(x)
        if scale is None or bias is None or scale.ndim != 1 or bias.shape != scale.shape or rank is None or rank < 2:
            return None
        if not isinstance(batch_norm(norm, scale.size, region), Affine):
            return None
        affine = affine_of(node, x, scale.size, 1, rank, region)
        if not isinstance(affine, Affine):
            return affine
        if not region.only_read_by(x, node):
            return Refusal(f"the output of {norm.name or norm.op} is also read elsewhere", norm)
        patch = self.patch(region, node, norm)
        new_scale, new_bias = scale, bias
        if affine.scale is not None:
            new_scale, new_bias = times(scale, affine.scale, (-1,)), times(bias, affine.scale, (-1,))
        if affine.shift is not None:
            new_bias = rounded(plus(new_bias, affine.shift), bias.dtype)
        kept = norm.inputs[1] if affine.scale is None else patch.weight(new_scale, norm.inputs[1].name)
        inputs = [norm.inputs[0], kept, patch.weight(new_bias, norm.inputs[2].name), *norm.inputs[3:5]]
        patch.add("BatchNormalization", inputs, norm.attrs, out=node.outputs[0])
        return patch
