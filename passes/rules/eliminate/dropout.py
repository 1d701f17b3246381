from __future__ import annotations

from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.patch import Patch
from passes.region import Region


class EliminateDropout(Rewrite):
    """Remove a Dropout that does nothing at inference.

    What    y = Dropout(x)  becomes  x.
    Why     Outside of training it is an Identity.
    When    `training_mode` is absent or false (opset 12 on), `is_test` is 1 (before opset 7), and the mask is not read.
    Not     A Dropout in training mode, or one whose mask is read.
    Safety  EXACT: nothing is computed.
    Source  ONNX Dropout.
    """

    id = "eliminate-dropout"
    roots = ("Dropout",)
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) { a = Dropout(x)  y = Relu(a) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) { y = Relu(x) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        if region.has(node, 2):
            training = region.constant(node.inputs[2])
            if training is None or training.any():
                return Refusal("it runs in training mode", node)
        if region.opset < 7 and not node.attrs.get("is_test", 0):
            return Refusal("it runs in training mode (is_test is 0)", node)
        if len(node.outputs) > 1 and not region.is_unread(node.outputs[1]):
            return Refusal("its mask is read", node)
        patch = self.patch(region, node)
        patch.replace(node.outputs[0], node.inputs[0])
        return patch
