from __future__ import annotations

import math
from typing import Any

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.read import axis_of, perm_of
from passes.region import Region
from passes.rules.fuse.matmul_add import broadcasts_to
from passes.write import transpose


class FuseAttention(Rewrite):
    """Recognise scaled dot-product attention.

    What    Softmax(Q·Kᵀ·s + mask)·V  becomes  Attention<scale = s>(Q, K, V, mask).
    Why     One op instead of four or five: runtimes keep the scores out of memory.
    When    Opset 23; Q, K, V have four axes; the scale is one number; the mask, if any, broadcasts to the scores.
    Not     Scores that are read elsewhere; a softmax over another axis.
    Safety  ROUNDING: the scale may be applied before the product.
    Source  ONNX Attention; Vaswani et al. 2017 (arXiv 1706.03762).
    """

    id = "fuse-attention"
    needs = 23
    safety = Safety.ROUNDING
    roots = ("MatMul",)
    BEFORE = """ g (float[2,4,5,8] q, float[2,4,5,8] k, float[2,4,5,8] v) => (float[2,4,5,8] y) <float w = {0.35355338}> {
        t = Transpose <perm = [0, 1, 3, 2]> (k)  s = MatMul (q, t)  c = Mul (s, w)  p = Softmax <axis = -1> (c)  y = MatMul (p, v) } """
    AFTER = """ g (float[2,4,5,8] q, float[2,4,5,8] k, float[2,4,5,8] v) => (float[2,4,5,8] y) { y = Attention (q, k, v) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        softmax = region.producer(node.inputs[0], "Softmax")
        if softmax is None or region.rank(node.inputs[0]) != 4 or region.rank(node.inputs[1]) != 4:
            return None
        if axis_of(softmax, region, -1 if region.opset >= 13 else 1, 4) != 3:
            return None
        chain, mask, scale = [softmax], None, 1.0
        scores = softmax.inputs[0]
        added = region.producer(scores, "Add")
        if added is not None:
            side = next(
                (k for k in (0, 1) if region.producer(added.inputs[k], "MatMul", "Mul", "Div") is not None), None
            )
            if side is None:
                return None
            mask, scores = added.inputs[1 - side], added.inputs[side]
            chain.append(added)
        scaled = region.producer(scores, "Mul", "Div")
        if scaled is not None:
            found = _scale(scaled, region)
            if found is None:
                return None
            scale, scores = found
            chain.append(scaled)
        product = region.producer(scores, "MatMul")
        if product is None:
            return None
        chain.append(product)
        for inner, outer in zip(chain, [node, *chain], strict=False):
            if not region.only_read_by(inner.outputs[0], outer):
                return Refusal(f"the output of {inner.name or inner.op} is also read elsewhere", inner)
        return self.write(node, chain, product, mask, scale, region)

    def write(
        self, node: Node, chain: list[Node], product: Node, mask: Any, scale: float, region: Region
    ) -> Patch | Refusal | None:
        """The patch for a softmax between two products."""
        scores, dtype = product.outputs[0], region.dtype(product.outputs[0])
        if mask is not None and (region.rank(mask) not in (2, 4) or region.dtype(mask) != dtype):
            return Refusal(f"the mask {mask.name} has not two or four axes of the scores' type", node)
        if mask is not None and not broadcasts_to(region.shape(mask), region.shape(scores)):
            return Refusal(f"the mask {mask.name} does not broadcast to the scores for certain", node)
        if mask is not None and not (has_rows(mask, scores, region) or can_repeat_rows(mask, scores, region)):
            return Refusal(f"the mask {mask.name} has not one row per query for certain", node)
        q, turned, v = product.inputs[0], product.inputs[1], node.inputs[1]
        if not _same_heads(q, turned, v, region):
            return Refusal("queries, keys and values have not the same batch and heads for certain", node)
        q, scale = unscaled(q, scale, region, product)
        patch = self.patch(region, node, *chain)
        before = region.producer(turned, "Transpose")
        perm = None if before is None else perm_of(before, region)
        if before is not None and perm is not None:
            perm = [perm[0], perm[1], perm[3], perm[2]]
            k = before.inputs[0] if perm == [0, 1, 2, 3] else transpose(patch, before.inputs[0], perm)
        else:
            k = transpose(patch, turned, [0, 1, 3, 2])
        if mask is not None and not has_rows(mask, scores, region):
            mask = repeat_rows(patch, mask, region)
        width = region.dim(q, 3)
        default = isinstance(width, int) and width > 0 and math.isclose(scale, 1 / math.sqrt(width), rel_tol=1e-7)
        patch.add("Attention", [q, k, v, mask], {} if default else {"scale": scale}, out=node.outputs[0])
        return patch


def has_rows(mask: Any, scores: Any, region: Region) -> bool:
    """Whether the mask has the scores' last two sizes: runtimes do not broadcast those."""
    return all(region.dim(mask, axis) == region.dim(scores, axis) for axis in (-2, -1))


def can_repeat_rows(mask: Any, scores: Any, region: Region) -> bool:
    """Whether one row stands for all queries and self-attention makes its length their number."""
    length = region.dim(scores, -1)
    return region.dim(mask, -2) == 1 and region.dim(mask, -1) == length == region.dim(scores, -2)


def repeat_rows(patch: Patch, mask: Any, region: Region) -> Any:
    """The mask with its row repeated for each query; what several layers share is merged afterwards."""
    rank = region.rank(mask) or 0
    axes = patch.ints([*range(rank - 2), rank - 1, rank - 1], f"{mask.name}_axes")
    size = patch.add("Gather", [patch.add("Shape", [mask]), axes], {"axis": 0})
    return patch.add("Expand", [mask, size])


def _scale(node: Node, region: Region) -> tuple[float, Any] | None:
    """The number that `node` multiplies by, and what it multiplies."""
    for k in (1, 0) if node.op == "Mul" else (1,):
        if region.is_constant(node.inputs[k]):
            value = region.scalar(node.inputs[k])
            if value:
                return (value if node.op == "Mul" else 1 / value), node.inputs[1 - k]
    return None


def unscaled(q: Any, scale: float, region: Region, product: Node) -> tuple[Any, float]:
    """The query without a scale of its own."""
    scaled = region.producer(q, "Mul", "Div")
    found = None if scaled is None else _scale(scaled, region)
    if scaled is None or found is None or not region.only_read_by(q, product) or region.rank(found[1]) != 4:
        return q, scale
    return found[1], scale * found[0]


def _same_heads(q: Any, turned: Any, v: Any, region: Region) -> bool:
    shapes = [region.shape(t) for t in (q, turned, v)]
    return all(s is not None and len(s) == 4 and s[:2] == (shapes[0] or ())[:2] for s in shapes)
