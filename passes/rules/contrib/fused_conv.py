from __future__ import annotations

from typing import Any

from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.patch import Patch
from passes.read import clip_bounds
from passes.region import Region

DOMAIN = "com.microsoft"


class FuseConvActivation(Rewrite):
    """Let onnxruntime's FusedConv do the activation behind a Conv, and the addition of a shortcut before it.

    What    Relu(Conv(x, W, b) + z)  becomes  FusedConv<activation = "Relu">(x, W, b, z).
    Why     One or two passes over the activation less.
    When    Preset "contrib"; the activation is Relu, Sigmoid, Tanh, LeakyRelu, HardSigmoid or Clip with numbers; float32.
    Not     A Conv output that is read elsewhere. Other runtimes, which do not know the op.
    Safety  EXACT: the same operations.
    Source  onnxruntime FusedConv.
    """

    id = "fuse-conv-activation"
    roots = ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "Clip")
    BEFORE = """ g (float[1,3,8,8] x, float[1,4,6,6] z) => (float[1,4,6,6] y) <float[4,3,3,3] w, float[4] b> { a = Conv (x, w, b)  c = Add (a, z)  y = Relu (c) } """
    AFTER = """ <ir_version: 10, opset_import: ["": 17, "com.microsoft": 1]> g (float[1,3,8,8] x, float[1,4,6,6] z) => (float[1,4,6,6] y)
        <float[4,3,3,3] w, float[4] b> { y = com.microsoft.FusedConv <activation = "Relu"> (x, w, b, z) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        added = region.producer(node.inputs[0], "Add")
        conv, shortcut, nodes = self._conv(node, added, region)
        if conv is None or region.dtype(node.outputs[0]) is None or str(region.dtype(node.outputs[0])) != "float32":
            return None
        if not region.only_read_by(conv.outputs[0], *nodes):
            return Refusal(f"the output of {conv.name or conv.op} is also read elsewhere", conv)
        params = self._params(node, region)
        if params is None:
            return None
        patch = self.patch(region, node, *nodes[1:], conv)
        bias = conv.inputs[2] if region.has(conv, 2) else None
        attrs: dict[str, Any] = {**conv.attrs, "activation": node.op, "activation_params": params or None}
        patch.add("FusedConv", [*conv.inputs[:2], bias, shortcut], attrs, out=node.outputs[0], domain=DOMAIN)
        return patch

    def _conv(self, node: Node, added: Node | None, region: Region) -> tuple[Node | None, Any, list[Node]]:
        """The Conv, what is added to it, and the nodes that read on the way."""
        if added is None:
            return region.producer(node.inputs[0], "Conv"), None, [node]
        for k in (0, 1):
            conv = region.producer(added.inputs[k], "Conv")
            other = added.inputs[1 - k]
            same = region.shape(other) is not None and region.shape(other) == region.shape(added.outputs[0])
            if conv is not None and same and region.has(conv, 2) and region.only_read_by(added.outputs[0], node):
                return conv, other, [node, added]
        return None, None, []

    def _params(self, node: Node, region: Region) -> list[float] | None:
        if node.op == "LeakyRelu":
            return [float(node.attrs.get("alpha", 0.01))]
        if node.op == "HardSigmoid":
            return [float(node.attrs.get("alpha", 0.2)), float(node.attrs.get("beta", 0.5))]
        if node.op == "Clip":
            bounds = clip_bounds(node, region)
            return (
                None
                if bounds is None or bounds[0] is None or bounds[1] is None
                else [float(b) for b in bounds if b is not None]
            )
        return []
