from __future__ import annotations

from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.patch import Patch
from passes.region import Region
from passes.rules.fuse.pad_conv import spatial_pads


class FusePadPool(Rewrite):
    """Let a pool do the padding in front of it.

    What    AveragePool<count_include_pad = 1>(Pad(x, 0))  and  MaxPool(Pad(x, -∞))  become the pool with pads.
    Why     The Pad copies the whole activation.
    When    The fill is what the pool's own padding stands for: 0 that counts for an average, -∞ for a maximum.
    Not     MaxPool after zeros: with only negative values around, the zeros win. ceil_mode, and pads as large as the kernel.
    Safety  EXACT: the same windows.
    Source  ONNX AveragePool, MaxPool.
    """

    id = "fuse-pad-pool"
    roots = ("AveragePool", "MaxPool")
    BEFORE = """ g (float[1,3,8,8] x) => (float[1,3,8,8] y) <int64[8] p = {0,0,1,1,0,0,1,1}> {
        a = Pad (x, p)  y = AveragePool <kernel_shape = [3, 3], count_include_pad = 1> (a) } """
    AFTER = """ g (float[1,3,8,8] x) => (float[1,3,8,8] y) {
        y = AveragePool <kernel_shape = [3, 3], count_include_pad = 1, pads = [1, 1, 1, 1]> (x) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        pad = region.producer(node.inputs[0], "Pad")
        if pad is None or any(not region.is_unread(t) for t in node.outputs[1:]):
            return None
        average = node.op == "AveragePool"
        own = node.attrs.get("pads") or []
        if average and not node.attrs.get("count_include_pad", 0) and any(own):
            return Refusal("its own padding does not count, the Pad's does", node)
        extra = spatial_pads(pad, region, 0.0 if average else float("-inf"))
        if extra is None or isinstance(extra, Refusal):
            return extra
        if average and region.opset < 7:
            return None
        if node.attrs.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID") or node.attrs.get("ceil_mode", 0):
            return Refusal("auto_pad and ceil_mode look at the size of the input", node)
        pads = [a + b for a, b in zip(own or [0] * len(extra), extra, strict=True)]
        kernel = node.attrs.get("kernel_shape", [])
        if any(p >= kernel[i % len(kernel)] for i, p in enumerate(pads)):
            return Refusal("the pads are as large as the kernel", node)
        patch = self.patch(region, node, pad)
        attrs = {k: v for k, v in node.attrs.items() if k != "auto_pad"}
        attrs["pads"] = pads
        if average:
            attrs["count_include_pad"] = 1
        patch.add(node.op, [pad.inputs[0]], attrs, out=node.outputs[0])
        return patch
