from __future__ import annotations

import numpy as np

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.read import is_uniform, per_channel, reduce_axes
from passes.region import Region
from passes.rules.fuse.layer_norm import FuseLayerNorm


class FuseInstanceNorm(Rewrite):
    """Recognise the normalization inside an InstanceNormalization.

    What    (x − mean(x)) / √(var(x) + ε) over all spatial axes  becomes  InstanceNormalization(x, 1, 0); fuse-instance-norm-affine takes in γ and β.
    Why     One pass instead of seven over the activation.
    When    The means run over exactly the axes from 2 on, and the number of channels is known.
    Not     Means over other axes.
    Safety  ROUNDING: other order of the same operations.
    Source  ONNX InstanceNormalization; Ulyanov et al. 2016 (arXiv 1607.08022).
    """

    id = "fuse-instance-norm"
    safety = Safety.ROUNDING
    roots = ("Div", "Mul")
    BEFORE = """ g (float[1,4,5,5] x) => (float[1,4,5,5] y) <float two = {2}, float eps = {0.00001}> {
        m = ReduceMean <axes = [2, 3]> (x)  d = Sub (x, m)  p = Pow (d, two)  v = ReduceMean <axes = [2, 3]> (p)
        e = Add (v, eps)  s = Sqrt (e)  y = Div (d, s) } """
    AFTER = """ g (float[1,4,5,5] x) => (float[1,4,5,5] y) <float[4] one, float[4] nil> { y = InstanceNormalization <epsilon = 0.00001> (x, one, nil) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        for form in FuseLayerNorm.forms:
            match = form.match(node, region)
            if match is None:
                continue
            x = match["x"]
            shape, dtype = region.shape(x), region.dtype(x)
            axes = reduce_axes(match["mean"], region)
            if (
                shape is None
                or dtype is None
                or dtype.kind != "f"
                or axes != list(range(2, len(shape)))
                or len(shape) < 3
            ):
                return None
            if axes != reduce_axes(match["variance"], region) or not isinstance(shape[1], int):
                return None
            if match.objection is not None:
                return match.objection
            patch = self.patch(region, node, *match.nodes)
            one = patch.constant(np.ones(shape[1], dtype), f"{node.outputs[0].name}_scale")
            nil = patch.constant(np.zeros(shape[1], dtype), f"{node.outputs[0].name}_bias")
            patch.add("InstanceNormalization", [x, one, nil], {"epsilon": match.number("eps")}, out=node.outputs[0])
            return patch
        return None


class FuseInstanceNormAffine(Rewrite):
    """Take a scale and a bias per channel into the InstanceNormalization before them.

    What    InstanceNormalization(x, 1, 0)·γ + β  becomes  InstanceNormalization(x, γ, β).
    Why     One or two passes over the activation less.
    When    γ and β are constants per channel; the normalization has no scale (γ) or no bias (β) of its own yet.
    Not     Numbers that vary over positions.
    Safety  ROUNDING: the runtime may multiply in another order.
    Source  ONNX InstanceNormalization.
    """

    id = "fuse-instance-norm-affine"
    safety = Safety.ROUNDING
    roots = ("Mul", "Add")
    BEFORE = """ g (float[1,4,5,5] x) => (float[1,4,5,5] y) <float[4] one = {1,1,1,1}, float[4] nil = {0,0,0,0}, float[4,1,1] g1, float[4,1,1] b> {
        n = InstanceNormalization (x, one, nil)  k = Mul (n, g1)  y = Add (k, b) } """
    AFTER = """ g (float[1,4,5,5] x) => (float[1,4,5,5] y) <float[4] g1, float[4] b> { y = InstanceNormalization (x, g1, b) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        for k in (0, 1):
            norm = region.producer(node.inputs[k], "InstanceNormalization")
            if norm is not None and region.is_constant(node.inputs[1 - k]):
                return self._fuse(node, norm, node.inputs[1 - k], region)
        return None

    def _fuse(self, node: Node, norm: Node, other: object, region: Region) -> Patch | Refusal | None:
        scale, bias, given = (region.constant(t) for t in (norm.inputs[1], norm.inputs[2], other))
        rank = region.rank(norm.inputs[0])
        if scale is None or bias is None or given is None or rank is None or given.dtype != scale.dtype:
            return None
        values = per_channel(given, rank, scale.size)
        if values is None:
            return Refusal(f"{getattr(other, 'name', 'it')} is not one number per channel", node)
        if not is_uniform(bias, 0) or (node.op == "Mul" and not is_uniform(scale, 1)):
            return None
        if not region.only_read_by(norm.outputs[0], node):
            return Refusal(f"the output of {norm.name or norm.op} is also read elsewhere", norm)
        patch = self.patch(region, node, norm)
        value = patch.constant(values, getattr(other, "name", "scale"))
        inputs = (
            [norm.inputs[0], value, norm.inputs[2]] if node.op == "Mul" else [norm.inputs[0], norm.inputs[1], value]
        )
        patch.add("InstanceNormalization", inputs, norm.attrs, out=node.outputs[0])
        return patch
