from __future__ import annotations

import numpy as np

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.read import per_channel
from passes.region import Region
from passes.rules.fuse.linear import FLOATS, Linear


class FuseScaleIntoBiasedMatMul(Rewrite):
    """Fold a multiplication after a MatMul with bias into weight and bias.

    What    (MatMul(x, W) + b)·k  becomes  MatMul(x, W·k) + b·k.
    Why     The scale of an attention query costs nothing when it is part of the projection.
    When    W, b and k are constant, b and k per column, and nothing else reads what lies between.
    Not     A bias that varies over positions.
    Safety  ROUNDING: the same reals in another order.
    Source  Algebra.
    """

    id = "fuse-scale-into-biased-matmul"
    safety = Safety.ROUNDING
    roots = ("Mul", "Div")
    BEFORE = """ g (float[2,5,3] x) => (float[2,5,4] y) <float[3,4] w, float[4] b, float k = {8.0}> {
        a = MatMul (x, w)  c = Add (b, a)  y = Div (c, k) } """
    AFTER = (
        """ g (float[2,5,3] x) => (float[2,5,4] y) <float[3,4] w, float[4] b> { a = MatMul (x, w)  y = Add (b, a) } """
    )

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        for k in (0, 1) if node.op == "Mul" else (0,):
            factor = region.constant(node.inputs[1 - k]) if region.is_constant(node.inputs[1 - k]) else None
            added = region.producer(node.inputs[k], "Add")
            if added is None or factor is None or factor.dtype.name not in FLOATS:
                continue
            for j in (0, 1):
                product = region.producer(added.inputs[j], "MatMul")
                if product is not None and region.is_constant(added.inputs[1 - j]):
                    return self._fuse(node, added, product, added.inputs[1 - j], factor, region)
        return None

    def _fuse(
        self, node: Node, added: Node, product: Node, bias: object, factor: object, region: Region
    ) -> Patch | Refusal | None:
        linear = Linear.of(product, region)
        if not isinstance(linear, Linear):
            return linear
        shift = region.constant(bias)
        assert isinstance(factor, np.ndarray)
        scale = per_channel(factor, linear.rank, linear.channels, linear.axis)
        if scale is None or shift is None or per_channel(shift, linear.rank, linear.channels, linear.axis) is None:
            return None
        for tensor, reader in ((product.outputs[0], added), (added.outputs[0], node)):
            if not region.only_read_by(tensor, reader):
                return Refusal(f"{tensor.name} is also read elsewhere", reader)
        exact = scale.astype(np.float64)
        if node.op == "Div":
            if (exact == 0).any():
                return None
            exact = 1.0 / exact
        patch = self.patch(region, node, product, added)
        weight = patch.weight(linear.scaled(exact), product.inputs[1].name)
        y = patch.add("MatMul", [product.inputs[0], weight])
        scaled = (shift.astype(np.float64) * exact).astype(linear.weight.dtype)
        patch.add("Add", [patch.constant(scaled, getattr(bias, "name", "bias")), y], out=node.outputs[0])
        return patch
