from __future__ import annotations

from typing import Any

from exec.ir import Node
from passes.base import Rewrite, Safety
from passes.patch import Patch
from passes.read import perm_of
from passes.region import Region


class FuseTransposeGemm(Rewrite):
    """Let Gemm read its operand transposed instead of transposing it first.

    What    Gemm(Transpose(A), B, C)  becomes  Gemm<transA = 1>(A, B, C); a MatMul of two matrices becomes a Gemm.
    Why     BLAS reads either order at the same speed; the Transpose is a copy.
    When    The operand is a matrix.
    Not     Products of more than two axes.
    Safety  ROUNDING: BLAS may add in another order.
    Source  ONNX Gemm.
    """

    id = "fuse-transpose-gemm"
    safety = Safety.ROUNDING
    roots = ("Gemm", "MatMul")
    BEFORE = """ g (float[3,2] x) => (float[2,4] y) <float[3,4] w, float[4] c> { t = Transpose <perm = [1, 0]> (x)  y = Gemm (t, w, c) } """
    AFTER = """ g (float[3,2] x) => (float[2,4] y) <float[3,4] w, float[4] c> { y = Gemm <transA = 1> (x, w, c) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        if node.op == "MatMul" and not self._matrices(node, region):
            return None
        attrs: dict[str, Any] = dict(node.attrs)
        inputs, moved = list(node.inputs), []
        for k, name in enumerate(("transA", "transB")):
            before = region.producer(inputs[k], "Transpose")
            if before is not None and perm_of(before, region) == [1, 0]:
                inputs[k] = before.inputs[0]
                attrs[name] = 1 - int(attrs.get(name, 0))
                moved.append(before)
        if not moved or (node.op == "MatMul" and not any(region.only_read_by(t.outputs[0], node) for t in moved)):
            return None
        patch = self.patch(region, node, *moved)
        kept = {k: v for k, v in attrs.items() if not (k.startswith("trans") and v == 0)}
        if node.op == "MatMul" and region.opset < 11:
            # C is not optional before opset 11
            return None
        patch.add("Gemm", inputs, kept, out=node.outputs[0])
        return patch

    def _matrices(self, node: Node, region: Region) -> bool:
        dtype = region.dtype(node.outputs[0])
        return all(region.rank(t) == 2 for t in node.inputs) and dtype is not None and dtype.kind == "f"
