from __future__ import annotations

from exec.ir import Node
from passes.base import Rewrite
from passes.patch import Patch
from passes.region import Region

OPTIONAL = {
    "Dropout": 1, "MaxPool": 1, "LayerNormalization": 1, "BatchNormalization": 1, "Unique": 1,
}  # fmt: skip
"""From which output on they may be left out."""


class RemoveUnusedOutputs(Rewrite):
    """Leave out optional outputs that nobody reads.

    What    y, mask = Dropout(x)  becomes  y = Dropout(x)  when the mask is not read.
    Why     The runtime need not make them, and the node can be fused.
    When    The output is optional and unread.
    Not     Outputs an op must have.
    Safety  EXACT: nothing that is read changes.
    Source  ONNX optional outputs.
    """

    id = "remove-unused-outputs"
    roots = tuple(OPTIONAL)
    BEFORE = """ g (float[1,1,4,4] x) => (float[1,1,2,2] y) { y, i = MaxPool <kernel_shape = [3, 3]> (x) } """
    AFTER = """ g (float[1,1,4,4] x) => (float[1,1,2,2] y) { y = MaxPool <kernel_shape = [3, 3]> (x) } """

    def at(self, node: Node, region: Region) -> Patch | None:
        kept = len(node.outputs)
        while kept > OPTIONAL[node.op] and region.is_unread(node.outputs[kept - 1]):
            kept -= 1
        if (
            kept == len(node.outputs)
            or kept == 0
            or (node.op == "BatchNormalization" and node.attrs.get("training_mode", 0))
        ):
            return None
        patch = self.patch(region, node)
        patch.add_many(node.op, list(node.inputs), node.attrs, outs=list(node.outputs[:kept]))
        return patch
