from __future__ import annotations

from typing import Any

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.dims import Shape
from passes.patch import Patch
from passes.region import Region


class FuseMatMulAdd(Rewrite):
    """Write a product of two matrices and an addition as one Gemm.

    What    MatMul(A, B) + C  becomes  Gemm(A, B, C); also Gemm(A, B) + C, and a Sum of the two.
    Why     One pass over the result instead of two.
    When    A and B are matrices of one float type; C broadcasts to the result; nothing else reads the product.
    Not     Products of more than two axes: they would need a Reshape on both sides. A C that widens the result.
    Safety  ROUNDING: the sum may be accumulated in another order.
    Source  ONNX Gemm.
    """

    id = "fuse-matmul-add"
    safety = Safety.ROUNDING
    roots = ("Add", "Sum")
    BEFORE = """ g (float[2,3] x) => (float[2,4] y) <float[3,4] w, float[4] c> { a = MatMul (x, w)  y = Add (a, c) } """
    AFTER = """ g (float[2,3] x) => (float[2,4] y) <float[3,4] w, float[4] c> { y = Gemm (x, w, c) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        if len(node.inputs) != 2:
            return None
        near: Refusal | None = None
        for k in (0, 1):
            product = region.producer(node.inputs[k], "MatMul", "Gemm")
            if product is None or (product.op == "Gemm" and region.has(product, 2)):
                continue
            found = self._fuse(node, product, node.inputs[1 - k], region)
            if isinstance(found, Patch):
                return found
            near = near or found
        return near

    def _fuse(self, node: Node, product: Node, c: Any, region: Region) -> Patch | Refusal | None:
        out = product.outputs[0]
        a, b = (region.shape(t) for t in product.inputs[:2])
        if a is None or b is None or len(a) != 2 or len(b) != 2:
            return None
        dtype = region.dtype(out)
        if dtype is None or dtype.kind != "f" or dtype != region.dtype(c):
            return None
        if not broadcasts_to(region.shape(c), region.shape(out)):
            return Refusal(f"{c.name} does not broadcast to the product's shape for certain", node)
        if region.opset < 7 and node.attrs.get("broadcast", 0):
            return None
        if not region.only_read_by(out, node) or node.inputs[0] is node.inputs[1]:
            return Refusal(f"the output of {product.name or product.op} is also read elsewhere", product)
        patch = self.patch(region, node, product)
        attrs = dict(product.attrs) if product.op == "Gemm" else {}
        if region.opset < 7:
            attrs["broadcast"] = 1
        patch.add("Gemm", [*product.inputs[:2], c], attrs, out=node.outputs[0])
        return patch


def broadcasts_to(shape: Shape | None, target: Shape | None) -> bool:
    """Whether a value of `shape` broadcasts to `target` without changing it, on every run."""
    if shape is None or target is None or len(shape) > len(target):
        return False
    return all(d in (1, t) for d, t in zip(reversed(shape), reversed(target), strict=False))
