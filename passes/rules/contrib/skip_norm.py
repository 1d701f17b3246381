from __future__ import annotations

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.region import Region

DOMAIN = "com.microsoft"


class FuseSkipLayerNorm(Rewrite):
    """Let onnxruntime's SkipLayerNormalization do the addition before a LayerNormalization.

    What    LayerNormalization(x + s, γ, β)  becomes  SkipLayerNormalization(x, s, γ, β); the sum is its fourth output where it is read elsewhere.
    Why     One pass over the activation less per transformer block half.
    When    Preset "contrib"; three axes, normalized over the last; x and s have one shape.
    Not     Broadcast additions. Other runtimes, which do not know the op.
    Safety  ROUNDING: the statistics may be summed in another order.
    Source  onnxruntime SkipLayerNormalization.
    """

    id = "fuse-skip-layer-norm"
    safety = Safety.ROUNDING
    roots = ("LayerNormalization",)
    BEFORE = """ g (float[2,5,16] x, float[2,5,16] s) => (float[2,5,16] y) <float[16] g1, float[16] b> { a = Add (x, s)  y = LayerNormalization (a, g1, b) } """
    AFTER = """ <ir_version: 10, opset_import: ["": 17, "com.microsoft": 1]> g (float[2,5,16] x, float[2,5,16] s) => (float[2,5,16] y)
        <float[16] g1, float[16] b> { y = com.microsoft.SkipLayerNormalization <epsilon = 0.00001> (x, s, g1, b) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        added = region.producer(node.inputs[0], "Add")
        if added is None or len(node.outputs) != 1 or int(node.attrs.get("axis", -1)) not in (-1, 2):
            return None
        shapes = [region.shape(t) for t in added.inputs]
        if shapes[0] is None or len(shapes[0]) != 3 or shapes[0] != shapes[1] or not region.has(node, 2):
            return None
        shared = not region.only_read_by(added.outputs[0], node)
        patch = self.patch(region, node, added)
        inputs = [*added.inputs, node.inputs[1], node.inputs[2]]
        attrs = {"epsilon": node.attrs.get("epsilon", 1e-5)}
        if shared:
            empty = patch.omitted()
            outs = [node.outputs[0], empty, patch.omitted(), added.outputs[0]]
            patch.add_many("SkipLayerNormalization", inputs, attrs, outs=outs, domain=DOMAIN)
        else:
            patch.add("SkipLayerNormalization", inputs, attrs, out=node.outputs[0], domain=DOMAIN)
        return patch
