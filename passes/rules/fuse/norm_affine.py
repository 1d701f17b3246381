from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.read import is_uniform
from passes.region import Region

NORMS = ("LayerNormalization", "RMSNormalization")


class FuseNormAffine(Rewrite):
    """Take a scale and a bias into the normalization before them.

    What    LayerNormalization(x, 1)·γ + β  becomes  LayerNormalization(x, γ, β).
    Why     One or two passes over the activation less.
    When    γ has exactly the normalized shape, and the normalization has no scale of its own yet (β: no bias).
    Not     A γ that broadcasts along another axis, such as [4, 1] for a normalized axis of 4. RMSNormalization has no bias.
    Safety  ROUNDING: the runtime may multiply in another order.
    Source  ONNX LayerNormalization.
    """

    id = "fuse-norm-affine"
    safety = Safety.ROUNDING
    roots = ("Mul", "Add")
    BEFORE = """ g (float[2,5,16] x) => (float[2,5,16] y) <float[16] one = {1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}, float[16] g1, float[16] b> {
        n = LayerNormalization (x, one)  k = Mul (n, g1)  y = Add (k, b) } """
    AFTER = """ g (float[2,5,16] x) => (float[2,5,16] y) <float[16] g1, float[16] b> { y = LayerNormalization (x, g1, b) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        for k in (0, 1):
            norm = region.producer(node.inputs[k], *NORMS)
            if norm is not None and norm.outputs[0] is node.inputs[k] and region.is_constant(node.inputs[1 - k]):
                return self._fuse(node, norm, node.inputs[1 - k], region)
        return None

    def _fuse(self, node: Node, norm: Node, other: object, region: Region) -> Patch | Refusal | None:
        scale, given, rank = region.constant(norm.inputs[1]), region.constant(other), region.rank(norm.inputs[0])
        if scale is None or given is None or rank is None or given.dtype != scale.dtype:
            return None
        fitted = normalized(given, scale.shape, rank)
        if fitted is None:
            return Refusal(
                f"{getattr(other, 'name', 'it')} {list(given.shape)} has not the normalized shape {list(scale.shape)}",
                node,
            )
        if node.op == "Add" and (norm.op == "RMSNormalization" or region.has(norm, 2)):
            return None
        if node.op == "Mul" and (region.has(norm, 2) or not is_uniform(scale, 1)):
            return None
        if not region.only_read_by(norm.outputs[0], node):
            return Refusal(f"the output of {norm.name or norm.op} is also read elsewhere", norm)
        patch = self.patch(region, node, norm)
        value = other if fitted is given else patch.constant(fitted, getattr(other, "name", "scale"))
        inputs = [norm.inputs[0], value] if node.op == "Mul" else [norm.inputs[0], norm.inputs[1], value]
        patch.add(norm.op, inputs, norm.attrs, out=node.outputs[0])
        return patch


def normalized(array: Array, shape: tuple[int, ...], rank: int) -> Array | None:
    """`array` in exactly `shape`, if that is what it broadcasts over."""
    if array.ndim > rank:
        return None
    if array.shape == shape:
        return array
    lead = array.shape[: array.ndim - len(shape)]
    if array.ndim > len(shape) and all(d == 1 for d in lead) and array.shape[array.ndim - len(shape) :] == shape:
        return array.reshape(shape)
    if array.size == 1:
        return np.broadcast_to(array.reshape(-1)[0], shape)
    return None
