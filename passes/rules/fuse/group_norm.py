from __future__ import annotations

from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.pattern import ANY, Match, any_, const, op
from passes.read import is_uniform, per_channel
from passes.region import Region
from passes.rules.eliminate.noop_shape import same_shape


class FuseGroupNorm(Rewrite):
    """Recognise GroupNormalization written with InstanceNormalization.

    What    Reshape to [N, G, -1], InstanceNormalization with scale 1 and bias 0, Reshape back, ·γ + β  becomes  GroupNormalization.
    Why     One op instead of five.
    When    Opset 21, target "portable"; γ and β are one number per channel.
    Not     onnxruntime, which runs GroupNormalization as its function body. Opset 18 to 20, where γ is per group.
    Safety  ROUNDING: other order of the same operations.
    Source  ONNX GroupNormalization; Wu and He 2018 (arXiv 1803.08494).
    """

    id = "fuse-group-norm"
    needs = 21
    safety = Safety.ROUNDING
    targets = ("portable",)
    pattern = op(
        "Add",
        op(
            "Mul",
            op(
                "Reshape",
                op(
                    "InstanceNormalization",
                    op("Reshape", any_("x"), ANY, as_="split"),
                    const("one"),
                    const("nil"),
                    as_="norm",
                ),
                ANY,
                as_="join",
            ),
            const("g"),
        ),
        const("b"),
    )
    BEFORE = """ g (float[1,4,4,4] x) => (float[1,4,4,4] y) <int64[3] r = {0,2,-1}, float[2] one = {1,1}, float[2] nil = {0,0}, int64[4] o = {1,4,4,4},
        float[4,1,1] g1, float[4,1,1] b> {
        a = Reshape (x, r)  n = InstanceNormalization (a, one, nil)  c = Reshape (n, o)  d = Mul (c, g1)  y = Add (d, b) } """
    AFTER = """ g (float[1,4,4,4] x) => (float[1,4,4,4] y) <float[4] g1, float[4] b> { y = GroupNormalization <num_groups = 2, epsilon = 0.00001> (x, g1, b) } """

    def rewrite(self, match: Match, region: Region) -> Patch | Refusal | None:
        x, norm = match["x"], match["norm"]
        shape, split = region.shape(x), region.shape(match["split"].outputs[0])
        if shape is None or split is None or len(split) != 3 or split[0] != shape[0] or not isinstance(split[1], int):
            return None
        channels = shape[1]
        if (
            not isinstance(channels, int)
            or channels % split[1]
            or not same_shape(shape, region.shape(match["join"].outputs[0]))
        ):
            return None
        if not is_uniform(match.array("one"), 1) or not is_uniform(match.array("nil"), 0):
            return None
        scale = per_channel(match.array("g"), len(shape), channels)
        bias = per_channel(match.array("b"), len(shape), channels)
        if scale is None or bias is None:
            return Refusal("scale and bias are not one number per channel", match.root)
        patch = self.patch(region, match.root, *match.nodes)
        inputs = [x, patch.constant(scale, match["g"].name), patch.constant(bias, match["b"].name)]
        attrs = {"num_groups": split[1], "epsilon": norm.attrs.get("epsilon", 1e-5)}
        patch.add("GroupNormalization", inputs, attrs, out=match.root.outputs[0])
        return patch
