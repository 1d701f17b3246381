from __future__ import annotations

from passes.base import Rewrite, Safety
from passes.patch import Patch
from passes.pattern import Match, any_, either, number, op
from passes.read import clip_bounds
from passes.region import Region
from passes.rules.eliminate.noop_shape import same_shape


class FuseHardSwish(Rewrite):
    """Recognise HardSwish, however its factors are ordered.

    What    x·Clip(x + 3, 0, 6)/6  becomes  HardSwish(x); before opset 14, x·HardSigmoid<1/6, 1/2>(x).
    Why     One pass instead of four.
    When    The constants are those of HardSwish, and nothing else reads what lies between.
    Not     Other shifts and bounds; then HardSigmoid may fit.
    Safety  ROUNDING: other order of the same operations.
    Source  ONNX HardSwish; Howard et al. 2019 (arXiv 1905.02244).
    """

    id = "fuse-hard-swish"
    safety = Safety.ROUNDING
    pattern = op(
        "Div|Mul",
        op("Mul", any_("x"), op("Clip", op("Add", any_("x"), number(3.0)), rest=True, as_="clip")),
        either(number(6.0, 1e-5), number(1 / 6, 1e-5)),
        as_="scale",
    )
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) <float t = {3}, float l = {0}, float s = {6}> {
        a = Add (x, t)  b = Clip (a, l, s)  c = Mul (x, b)  y = Div (c, s) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = HardSwish (x) } """

    def rewrite(self, match: Match, region: Region) -> Patch | None:
        bounds, x, out = clip_bounds(match["clip"], region), match["x"], match.root.outputs[0]
        if bounds is None or bounds[0] != 0 or bounds[1] is None or abs(bounds[1] - 6) > 1e-5:
            return None
        factor = next(
            (s for t in match.root.inputs if region.is_constant(t) and (s := region.scalar(t)) is not None), 0.0
        )
        if (factor > 1) != (match.root.op == "Div"):
            return None
        dtype = region.dtype(x)
        if dtype is None or dtype.kind != "f" or not same_shape(region.shape(x), region.shape(out)):
            return None
        patch = self.patch(region, match.root, *match.nodes)
        if region.opset >= 14:
            patch.add("HardSwish", [x], out=out)
        else:
            gate = patch.add("HardSigmoid", [x], {"alpha": 1 / 6, "beta": 0.5})
            patch.add("Mul", [x, gate], out=out)
        return patch


class FuseHardSigmoidMul(Rewrite):
    """Write x·HardSigmoid(x) as HardSwish.

    What    x·HardSigmoid<alpha = 1/6, beta = 1/2>(x)  becomes  HardSwish(x).
    Why     One pass instead of two.
    When    alpha and beta are those of HardSwish.
    Not     The default alpha of 0.2.
    Safety  EXACT: the definition.
    Source  ONNX HardSwish.
    """

    id = "fuse-hard-sigmoid-mul"
    needs = 14
    pattern = op("Mul", any_("x"), op("HardSigmoid", any_("x"), as_="gate"))
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) { a = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x)  y = Mul (x, a) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = HardSwish (x) } """

    def rewrite(self, match: Match, region: Region) -> Patch | None:
        attrs = match["gate"].attrs
        if abs(attrs.get("alpha", 0.2) - 1 / 6) > 1e-6 or abs(attrs.get("beta", 0.5) - 0.5) > 1e-6:
            return None
        patch = self.patch(region, match.root, match["gate"])
        patch.add("HardSwish", [match["x"]], out=match.root.outputs[0])
        return patch
