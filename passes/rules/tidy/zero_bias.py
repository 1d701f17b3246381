from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region


class RemoveZeroBias(Rewrite):
    """Leave out a bias that is 0 everywhere.

    What    Conv(x, W, 0)  becomes  Conv(x, W);  ConvTranspose and, from opset 11, Gemm likewise.
    Why     Nothing to store, nothing to add.
    When    The bias is a constant of zeros.
    Not     Gemm before opset 11, which must have a C.
    Safety  EXACT: x + 0 is x.
    Source  ONNX Conv.
    """

    id = "remove-zero-bias"
    roots = ("Conv", "ConvTranspose", "Gemm")
    BEFORE = """ g (float[1,3,8,8] x) => (float[1,2,6,6] y) <float[2,3,3,3] w, float[2] b = {0, 0}> { y = Conv (x, w, b) } """
    AFTER = """ g (float[1,3,8,8] x) => (float[1,2,6,6] y) <float[2,3,3,3] w> { y = Conv (x, w) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        if not region.has(node, 2) or (node.op == "Gemm" and region.opset < 11):
            return None
        bias = region.constant(node.inputs[2])
        if bias is None or bias.any():
            return None
        if node.op == "Gemm" and not all(
            d == 1 or d == o
            for d, o in zip(bias.shape[::-1], (region.shape(node.outputs[0]) or ())[::-1], strict=False)
        ):
            return None
        patch = self.patch(region, node)
        patch.add(node.op, list(node.inputs[:2]), node.attrs, out=node.outputs[0])
        return patch
