from __future__ import annotations

from typing import Any

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.read import perm_of
from passes.region import Region
from passes.rules.move.scale_to_weight import scaled_by

DOMAIN = "com.microsoft"


class FuseTransposeIntoMatMul(Rewrite):
    """Let onnxruntime's FusedMatMul read transposed operands and scale the product.

    What    MatMul(q, Transpose(k))·s  becomes  FusedMatMul<transB = 1, alpha = s>(q, k).
    Why     A copy and a pass over the scores less.
    When    Preset "contrib"; the Transpose swaps the last two axes and keeps the others; s is one number.
    Not     Other permutations. Other runtimes, which do not know the op.
    Safety  ROUNDING: BLAS may add in another order.
    Source  onnxruntime FusedMatMul.
    """

    id = "fuse-transpose-into-matmul"
    safety = Safety.ROUNDING
    roots = ("MatMul", "Mul", "Div")
    BEFORE = """ g (float[2,3,4] q, float[2,3,4] k) => (float[2,3,3] y) <float s = {0.5}> {
        t = Transpose <perm = [0, 2, 1]> (k)  a = MatMul (q, t)  y = Mul (a, s) } """
    AFTER = """ <ir_version: 10, opset_import: ["": 17, "com.microsoft": 1]> g (float[2,3,4] q, float[2,3,4] k) => (float[2,3,3] y) {
        y = com.microsoft.FusedMatMul <alpha = 0.5, transA = 0, transB = 1> (q, k) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        product, alpha, nodes = node, 1.0, [node]
        if node.op != "MatMul":
            found = scaled_by(node, region)
            inner = None if found is None else region.producer(found[1], "MatMul")
            if found is None or inner is None or not region.only_read_by(inner.outputs[0], node):
                return None
            product, alpha, nodes = inner, found[0], [node, inner]
        elif any(scaled_by(r, region) is not None for r in region.readers(node.outputs[0]) if r.op in ("Mul", "Div")):
            # the scale comes next: it is the root then
            return None
        if any((region.rank(t) or 0) < 2 for t in product.inputs) or str(region.dtype(product.outputs[0])) != "float32":
            return None
        inputs: list[Any] = list(product.inputs)
        flags = [0, 0]
        for k, tensor in enumerate(inputs):
            turn = region.producer(tensor, "Transpose")
            perm = None if turn is None else perm_of(turn, region)
            if turn is not None and perm is not None and perm == [*range(len(perm) - 2), len(perm) - 1, len(perm) - 2]:
                inputs[k], flags[k] = turn.inputs[0], 1
                nodes.append(turn)
        if not any(flags):
            return None
        patch = self.patch(region, node, *nodes[1:])
        attrs = {"alpha": alpha, "transA": flags[0], "transB": flags[1]}
        patch.add("FusedMatMul", inputs, attrs, out=node.outputs[0], domain=DOMAIN)
        return patch
