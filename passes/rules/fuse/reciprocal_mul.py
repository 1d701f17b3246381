from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite, Safety
from passes.patch import Patch
from passes.pattern import Match, any_, either, number, op
from passes.region import Region
from passes.rules.eliminate.noop_shape import same_shape


class FuseReciprocalMul(Rewrite):
    """Divide instead of multiplying by a reciprocal.

    What    (1 / x)·z  and  Reciprocal(x)·z  become  z / x.
    Why     One pass instead of two, and one rounding instead of two.
    When    Nothing else reads the reciprocal.
    Not     Integers.
    Safety  ROUNDING: one rounding less.
    Source  Algebra.
    """

    id = "fuse-reciprocal-mul"
    safety = Safety.ROUNDING
    pattern = op(
        "Mul", either(op("Div", number(1.0), any_("x"), as_="r"), op("Reciprocal", any_("x"), as_="r")), any_("z")
    )
    BEFORE = (
        """ g (float[2,3] x, float[2,3] z) => (float[2,3] y) <float one = {1}> { a = Div (one, x)  y = Mul (a, z) } """
    )
    AFTER = """ g (float[2,3] x, float[2,3] z) => (float[2,3] y) { y = Div (z, x) } """

    def rewrite(self, match: Match, region: Region) -> Patch | None:
        root: Node = match.root
        dtype = region.dtype(root.outputs[0])
        if (
            dtype is None
            or dtype.kind != "f"
            or not same_shape(region.shape(match["x"]), region.shape(match["r"].outputs[0]))
        ):
            return None
        patch = self.patch(region, root, match["r"])
        patch.add("Div", [match["z"], match["x"]], out=root.outputs[0])
        return patch
