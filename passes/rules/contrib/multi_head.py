from __future__ import annotations

import math
from typing import Any

from exec.ir import Node
from passes.base import Refusal
from passes.patch import Patch
from passes.read import perm_of
from passes.region import Region
from passes.rules.eliminate.noop_shape import same_shape
from passes.rules.fuse.attention import FuseAttention, can_repeat_rows, has_rows, repeat_rows, unscaled
from passes.rules.fuse.attention_heads import SWAP, split_heads
from passes.rules.fuse.matmul_add import broadcasts_to

DOMAIN = "com.microsoft"


class FuseMultiHeadAttention(FuseAttention):
    """Let onnxruntime's MultiHeadAttention split the heads, attend and join them again.

    What    Softmax(Q·Kᵀ·s + mask)·V between Reshapes and Transposes  becomes  MultiHeadAttention<num_heads, scale = s>(Q, K, V, mask).
    Why     One op instead of a dozen, four of them copies of the activation; the scores stay out of memory.
    When    Preset "contrib", any opset; Q, K and V come from [batch, length, heads·size] by Reshape and Transpose, and the result goes back the same way.
    Not     Heads or scores that are read elsewhere; a mask that has not one row per query. Other runtimes, which do not know the op.
    Safety  ROUNDING: the scale may be applied before the product.
    Source  onnxruntime MultiHeadAttention.
    """

    id = "fuse-multi-head-attention"
    needs = 9
    BEFORE = """ g (float[2,5,8] q, float[2,5,8] k, float[2,5,8] v, float[2,1,5,5] m) => (float[2,5,8] y) <int64[4] s = {2,5,2,4}, int64[3] t = {2,5,8}, float w = {0.25}> {
        q4 = Reshape (q, s)  qt = Transpose <perm = [0, 2, 1, 3]> (q4)  k4 = Reshape (k, s)  kt = Transpose <perm = [0, 2, 3, 1]> (k4)
        v4 = Reshape (v, s)  vt = Transpose <perm = [0, 2, 1, 3]> (v4)
        p = MatMul (qt, kt)  c = Mul (p, w)  a = Add (c, m)  f = Softmax <axis = -1> (a)  o = MatMul (f, vt)
        ot = Transpose <perm = [0, 2, 1, 3]> (o)  y = Reshape (ot, t) } """
    AFTER = """ <ir_version: 10, opset_import: ["": 17, "com.microsoft": 1]> g (float[2,5,8] q, float[2,5,8] k, float[2,5,8] v, float[2,1,5,5] m) => (float[2,5,8] y)
        { y = com.microsoft.MultiHeadAttention <num_heads = 2, scale = 0.25> (q, k, v, , , m) } """

    def write(
        self, node: Node, chain: list[Node], product: Node, mask: Any, scale: float, region: Region
    ) -> Patch | Refusal | None:
        turn = _only_reader(node.outputs[0], region)
        joined = None if turn is None or turn.op != "Transpose" else _only_reader(turn.outputs[0], region)
        if turn is None or joined is None or joined.op != "Reshape" or perm_of(turn, region) != SWAP:
            return None
        q, scale = unscaled(product.inputs[0], scale, region, product)
        parts = [
            split_heads(q, region),
            split_heads(product.inputs[1], region, (0, 2, 3, 1)),
            split_heads(node.inputs[1], region),
        ]
        if any(p is None for p in parts):
            return Refusal("its heads are not split by a Reshape and a Transpose", node)
        found = [p for p in parts if p is not None]
        shape, out = region.shape(turn.outputs[0]), region.shape(joined.outputs[0])
        if shape is None or out is None or len({p[1] for p in found}) != 1 or shape[2] != found[0][1]:
            return None
        if len(out) != 3 or not same_shape(out, (shape[0], shape[1], shape[2] * shape[3])):
            return None
        scores = product.outputs[0]
        patch = self.patch(region, joined, *(n for p in found for n in p[2]), *chain, node, turn)
        if mask is not None:
            if region.rank(mask) != 4 or region.dtype(mask) != region.dtype(scores):
                return Refusal(f"the mask {mask.name} has not four axes of the scores' type", node)
            if not broadcasts_to(region.shape(mask), region.shape(scores)):
                return Refusal(f"the mask {mask.name} does not broadcast to the scores for certain", node)
            if not has_rows(mask, scores, region):
                if not can_repeat_rows(mask, scores, region):
                    return Refusal(f"the mask {mask.name} has not one row per query for certain", node)
                mask = repeat_rows(patch, mask, region)
        width = region.dim(q, 3)
        default = isinstance(width, int) and math.isclose(scale, 1 / math.sqrt(width), rel_tol=1e-7)
        attrs = {"num_heads": found[0][1]} | ({} if default else {"scale": scale})
        patch.add(
            "MultiHeadAttention",
            [*(p[0] for p in found), None, None, mask],
            attrs,
            out=joined.outputs[0],
            domain=DOMAIN,
        )
        return patch


def _only_reader(tensor: Any, region: Region) -> Node | None:
    """The one plain node that reads a value which is no output."""
    readers = region.readers(tensor)
    return (
        readers[0]
        if len(readers) == 1 and region.only_read_by(tensor, readers[0]) and region.is_plain(readers[0])
        else None
    )
