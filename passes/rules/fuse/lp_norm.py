from __future__ import annotations

from passes.base import Rewrite, Safety
from passes.patch import Patch
from passes.pattern import Match, any_, op
from passes.read import reduce_axes
from passes.region import Region


class FuseLpNorm(Rewrite):
    """Recognise division by a norm.

    What    x / ReduceL2(x)  becomes  LpNormalization<p = 2>(x).
    Why     One pass less over the activation.
    When    One axis, kept as size 1. Only in preset "aggressive".
    Not     By default: for a vector of zeros the division gives NaN where runtimes' LpNormalization gives 0.
    Safety  APPROXIMATE: equal but for zero vectors.
    Source  ONNX LpNormalization.
    """

    id = "fuse-lp-norm"
    safety = Safety.APPROXIMATE
    pattern = op("Div", any_("x"), op("ReduceL1|ReduceL2", any_("x"), rest=True, as_="norm"))
    BEFORE = """ g (float[2,5] x) => (float[2,5] y) { n = ReduceL2 <axes = [-1]> (x)  y = Div (x, n) } """
    AFTER = """ g (float[2,5] x) => (float[2,5] y) { y = LpNormalization <axis = 1, p = 2> (x) } """

    def rewrite(self, match: Match, region: Region) -> Patch | None:
        norm = match["norm"]
        axes = reduce_axes(norm, region)
        if axes is None or len(axes) != 1 or not norm.attrs.get("keepdims", 1):
            return None
        patch = self.patch(region, match.root, norm)
        patch.add(
            "LpNormalization",
            [match["x"]],
            {"axis": axes[0], "p": 1 if norm.op == "ReduceL1" else 2},
            out=match.root.outputs[0],
        )
        return patch
