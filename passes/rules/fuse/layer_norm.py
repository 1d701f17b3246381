from __future__ import annotations

import numpy as np

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.pattern import Match, Pattern, any_, either, number, op, scalar
from passes.read import reduce_axes
from passes.region import Region

_mean = op("ReduceMean", any_("x"), rest=True, as_="mean")
_centred = op("Sub", any_("x"), _mean, as_="centred")
_square = either(op("Pow", _centred, number(2.0)), op("Mul", _centred, _centred))
_inside = op("Add", op("ReduceMean", _square, rest=True, as_="variance"), scalar("eps"))
_deviation = either(op("Sqrt", _inside), op("Pow", _inside, number(0.5)))


def inverse(inside: Pattern, deviation: Pattern) -> Pattern:
    """1/√(…), in the ways exporters write it."""
    return either(op("Reciprocal", deviation), op("Div", number(1.0), deviation), op("Pow", inside, number(-0.5)))


class FuseLayerNorm(Rewrite):
    """Recognise the normalization inside a LayerNormalization.

    What    (x − mean(x)) / √(mean((x − mean(x))²) + ε)  becomes  LayerNormalization(x, 1); scale and bias are taken in by fuse-norm-affine.
    Why     One pass instead of seven over the activation.
    When    Opset 17; the means run over the last axes, whose sizes are known.
    Not     Means over other axes; a mean or deviation that is read elsewhere.
    Safety  ROUNDING: other order of the same operations.
    Source  ONNX LayerNormalization; Ba et al. 2016 (arXiv 1607.06450).
    """

    id = "fuse-layer-norm"
    needs = 17
    safety = Safety.ROUNDING
    roots = ("Div", "Mul")
    forms = (op("Div", _centred, _deviation), op("Mul", _centred, inverse(_inside, _deviation)))
    BEFORE = """ g (float[2,5,16] x) => (float[2,5,16] y) <float two = {2}, float eps = {0.00001}> {
        m = ReduceMean <axes = [-1]> (x)  d = Sub (x, m)  p = Pow (d, two)  v = ReduceMean <axes = [-1]> (p)
        e = Add (v, eps)  s = Sqrt (e)  y = Div (d, s) } """
    AFTER = """ g (float[2,5,16] x) => (float[2,5,16] y) <float[16] one> { y = LayerNormalization <axis = -1, epsilon = 0.00001> (x, one) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        for form in self.forms:
            match = form.match(node, region)
            if match is not None:
                return match.objection or self.rewrite(match, region)
        return None

    def rewrite(self, match: Match, region: Region) -> Patch | Refusal | None:
        axes = reduce_axes(match["mean"], region)
        if axes is None or axes != reduce_axes(match["variance"], region):
            return None
        if not all(n.attrs.get("keepdims", 1) for n in (match["mean"], match["variance"])):
            return None
        return normalization(self, match, "LayerNormalization", axes, region)


_rms_square = either(op("Pow", any_("x"), number(2.0)), op("Mul", any_("x"), any_("x")))
_rms_inside = op("Add", op("ReduceMean", _rms_square, rest=True, as_="variance"), scalar("eps"))
_rms_deviation = either(op("Sqrt", _rms_inside), op("Pow", _rms_inside, number(0.5)))


class FuseRMSNorm(Rewrite):
    """Recognise the normalization inside an RMSNormalization.

    What    x / √(mean(x²) + ε)  becomes  RMSNormalization(x, 1); the scale is taken in by fuse-norm-affine.
    Why     One pass instead of five over the activation.
    When    Opset 23; the mean runs over the last axes, whose sizes are known.
    Not     Means over other axes; a deviation that is read elsewhere.
    Safety  ROUNDING: other order of the same operations.
    Source  ONNX RMSNormalization; Zhang and Sennrich 2019 (arXiv 1910.07467).
    """

    id = "fuse-rms-norm"
    needs = 23
    safety = Safety.ROUNDING
    roots = ("Div", "Mul")
    forms = (op("Div", any_("x"), _rms_deviation), op("Mul", any_("x"), inverse(_rms_inside, _rms_deviation)))
    BEFORE = """ g (float[2,5,16] x) => (float[2,5,16] y) <float two = {2}, float eps = {0.00001}, int64[1] ax = {-1}> {
        p = Pow (x, two)  v = ReduceMean (p, ax)  e = Add (v, eps)  s = Sqrt (e)  r = Reciprocal (s)  y = Mul (x, r) } """
    AFTER = """ g (float[2,5,16] x) => (float[2,5,16] y) <float[16] one> { y = RMSNormalization <axis = -1, epsilon = 0.00001> (x, one) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        for form in self.forms:
            match = form.match(node, region)
            if match is not None:
                return match.objection or self.rewrite(match, region)
        return None

    def rewrite(self, match: Match, region: Region) -> Patch | Refusal | None:
        axes = reduce_axes(match["variance"], region)
        if axes is None or not match["variance"].attrs.get("keepdims", 1):
            return None
        return normalization(self, match, "RMSNormalization", axes, region)


def normalization(rule: Rewrite, match: Match, op_type: str, axes: list[int], region: Region) -> Patch | Refusal | None:
    """A patch with the normalization op and a scale of ones."""
    x, root = match["x"], match.root
    shape, dtype = region.shape(x), region.dtype(x)
    if shape is None or dtype is None or dtype.kind != "f":
        return None
    if not axes or axes != list(range(axes[0], len(shape))):
        return Refusal(f"it normalizes over the axes {axes}, not over the last ones", root)
    sizes = shape[axes[0] :]
    if not all(isinstance(d, int) for d in sizes):
        return Refusal("the sizes of the normalized axes are not known", root)
    patch = rule.patch(region, root, *match.nodes)
    ones = patch.constant(np.ones([d for d in sizes if isinstance(d, int)], dtype), f"{root.outputs[0].name}_scale")
    attrs = {"axis": axes[0] - len(shape), "epsilon": match.number("eps")}
    patch.add(op_type, [x, ones], attrs, out=root.outputs[0])
    return patch
