from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite, Safety
from passes.patch import Patch
from passes.region import Region
from passes.rules.eliminate.noop_shape import same_shape


class FuseReshapeMatMul(Rewrite):
    """Multiply a value of several axes by a matrix without flattening it first.

    What    Reshape(MatMul(Reshape(x, [-1, K]), W), [B, S, N])  becomes  MatMul(x, W);  a Gemm becomes MatMul and Add.
    Why     Two views less, and the sizes need not be computed.
    When    W is a matrix, the leading sizes come back as they were, and nothing else reads what lies between.
    Not     A Gemm with transA, alpha or beta; a C that is no row.
    Safety  ROUNDING: BLAS may add in another order.
    Source  ONNX MatMul.
    """

    id = "fuse-reshape-matmul"
    safety = Safety.ROUNDING
    roots = ("Reshape",)
    BEFORE = """ g (float[2,5,3] x) => (float[2,5,4] y) <int64[2] s = {10, 3}, int64[3] t = {2, 5, 4}, float[3,4] w> {
        a = Reshape (x, s)  b = MatMul (a, w)  y = Reshape (b, t) } """
    AFTER = """ g (float[2,5,3] x) => (float[2,5,4] y) <float[3,4] w> { y = MatMul (x, w) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        product = region.producer(node.inputs[0], "MatMul", "Gemm")
        before = None if product is None else region.producer(product.inputs[0], "Reshape")
        if product is None or before is None or not region.only_read_by(product.outputs[0], node):
            return None
        x, weight, out = (region.shape(t) for t in (before.inputs[0], product.inputs[1], node.outputs[0]))
        flat = region.shape(product.inputs[0])
        if (
            x is None
            or weight is None
            or out is None
            or flat is None
            or len(x) < 3
            or len(weight) != 2
            or len(flat) != 2
        ):
            return None
        plain = product.op == "MatMul" or (
            not any(product.attrs.get(k, 0) for k in ("transA", "transB"))
            and all(product.attrs.get(k, 1.0) == 1.0 for k in ("alpha", "beta"))
        )
        if not plain or flat[1] != x[-1] or not same_shape((*x[:-1], weight[1]), out):
            return None
        bias = product.inputs[2] if product.op == "Gemm" and region.has(product, 2) else None
        if bias is not None and region.shape(bias) not in ((weight[1],), (1,), ()):
            return None
        patch = self.patch(region, node, before, product)
        y = patch.add("MatMul", [before.inputs[0], product.inputs[1]], out=node.outputs[0] if bias is None else None)
        if bias is not None:
            patch.add("Add", [y, bias], out=node.outputs[0])
        return patch
