from __future__ import annotations

from passes.base import Rewrite, Safety
from passes.patch import Patch
from passes.pattern import Match, any_, either, op, scalar
from passes.read import clip_bounds
from passes.region import Region
from passes.rules.eliminate.noop_shape import same_shape


class FuseHardSigmoid(Rewrite):
    """Recognise HardSigmoid written as Add, Clip, Div.

    What    Clip(x + 3, 0, 6) / 6  becomes  HardSigmoid<alpha = 1/6, beta = 1/2>(x).
    Why     One pass instead of three.
    When    The lower bound is 0 and the upper bound is the divisor.
    Not     Other bounds.
    Safety  ROUNDING: x·α + β instead of (x + c)/d.
    Source  ONNX HardSigmoid: max(0, min(1, α·x + β)).
    """

    id = "fuse-hard-sigmoid"
    safety = Safety.ROUNDING
    pattern = op(
        "Div|Mul",
        either(
            op("Clip", op("Add", any_("x"), scalar("shift")), rest=True, as_="clip"),
            op("Clip", any_("x"), rest=True, as_="clip"),
        ),
        scalar("size"),
    )
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) <float t = {3}, float l = {0}, float s = {6}> {
        a = Add (x, t)  b = Clip (a, l, s)  y = Div (b, s) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x) } """

    def rewrite(self, match: Match, region: Region) -> Patch | None:
        bounds = clip_bounds(match["clip"], region)
        size = match.number("size")
        if match.root.op == "Mul":
            size = 1 / size if size else 0.0
        if (
            bounds is None
            or bounds[0] != 0
            or bounds[1] is None
            or not size
            or abs(bounds[1] - size) > 1e-6 * size
            or size <= 0
        ):
            return None
        x, out = match["x"], match.root.outputs[0]
        dtype = region.dtype(x)
        if dtype is None or dtype.kind != "f" or not same_shape(region.shape(x), region.shape(out)):
            return None
        shift = match.number("shift") if match.get("shift") is not None else 0.0
        patch = self.patch(region, match.root, *match.nodes)
        patch.add("HardSigmoid", [x], {"alpha": 1 / size, "beta": shift / size}, out=out)
        return patch
