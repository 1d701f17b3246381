from __future__ import annotations

from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.patch import Patch
from passes.region import Region


class FusePadConv(Rewrite):
    """Let a Conv do the padding in front of it.

    What    Conv(Pad(x))  becomes  Conv<pads>(x).
    Why     The Pad copies the whole activation; a Conv pads as it reads.
    When    Constant mode with value 0, only spatial axes, no negative pads, and the Conv pads explicitly.
    Not     auto_pad SAME (it looks at the size of its input); reflected or edge padding.
    Safety  EXACT: the same zeros.
    Source  ONNX Conv.
    """

    id = "fuse-pad-conv"
    roots = ("Conv",)
    BEFORE = """ g (float[1,3,8,8] x) => (float[1,4,8,8] y) <float[4,3,3,3] w, int64[8] p = {0,0,1,1,0,0,1,1}> {
        a = Pad (x, p)  y = Conv (a, w) } """
    AFTER = (
        """ g (float[1,3,8,8] x) => (float[1,4,8,8] y) <float[4,3,3,3] w> { y = Conv <pads = [1, 1, 1, 1]> (x, w) } """
    )

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        pad = region.producer(node.inputs[0], "Pad")
        if pad is None:
            return None
        extra = spatial_pads(pad, region, 0.0)
        if extra is None or isinstance(extra, Refusal):
            return extra
        if node.attrs.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
            return Refusal("auto_pad looks at the size of its input", node)
        own = (
            [0] * len(extra)
            if node.attrs.get("auto_pad", "NOTSET") == "VALID"
            else node.attrs.get("pads") or [0] * len(extra)
        )
        if len(own) != len(extra):
            return None
        patch = self.patch(region, node, pad)
        attrs = {k: v for k, v in node.attrs.items() if k != "auto_pad"}
        attrs["pads"] = [a + b for a, b in zip(own, extra, strict=True)]
        patch.add("Conv", [pad.inputs[0], *node.inputs[1:]], attrs, out=node.outputs[0])
        return patch


def spatial_pads(pad: Node, region: Region, value: float) -> list[int] | Refusal | None:
    """The pads of the spatial axes of a Pad that fills with `value`, begins first; or why it is not that."""
    if pad.attrs.get("mode", "constant") != "constant":
        return Refusal(f"it pads by mode {pad.attrs['mode']}", pad)
    pads = region.ints(pad, 1, "pads")
    rank = region.rank(pad.inputs[0])
    if pads is None:
        return Refusal("the pads are not constant", pad)
    if region.has(pad, 3):
        axes = region.ints(pad, 3)
        if axes is None or rank is None:
            return None
        full = [0] * (2 * rank)
        for i, axis in enumerate(axes):
            full[axis % rank], full[axis % rank + rank] = pads[i], pads[len(axes) + i]
        pads = full
    n = len(pads) // 2
    fill: float | None = float(pad.attrs.get("value", 0.0)) if region.opset < 11 else 0.0
    if region.has(pad, 2):
        fill = region.scalar(pad.inputs[2])
    if fill != value:
        return Refusal(f"it fills with {fill}, not with {value}", pad)
    if any(p < 0 for p in pads):
        return Refusal("negative pads cut", pad)
    if any(pads[i] or pads[n + i] for i in (0, 1)):
        return Refusal("it pads the batch or the channels", pad)
    return pads[2:n] + pads[n + 2 :]
