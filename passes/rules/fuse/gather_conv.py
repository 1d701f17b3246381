from __future__ import annotations

import numpy as np

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.region import Region


class FuseChannelOrderIntoConv(Rewrite):
    """Fold a reordering of channels into the weight of the Conv behind it.

    What    Conv(Gather<axis = 1>(x, order), W)  becomes  Conv(x, W with its inputs in the old order).
    Why     The Gather copies the activation; the weight is reordered once.
    When    The order is a constant permutation of all channels, one group, and only the Conv reads it.
    Not     Repeated or missing channels; grouped convolutions.
    Safety  ROUNDING: the products are added in another order.
    Source  Linearity.
    """

    id = "fuse-channel-order-into-conv"
    safety = Safety.ROUNDING
    roots = ("Conv",)
    BEFORE = """ g (float[1,4,3,3] x) => (float[1,2,3,3] y) <int64[4] o = {2, 0, 3, 1}, float[2,4,1,1] w> {
        a = Gather <axis = 1> (x, o)  y = Conv (a, w) } """
    AFTER = """ g (float[1,4,3,3] x) => (float[1,2,3,3] y) <float[2,4,1,1] w> { y = Conv (x, w) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        gather = region.producer(node.inputs[0], "Gather")
        if gather is None or int(gather.attrs.get("axis", 0)) != 1 or int(node.attrs.get("group", 1)) != 1:
            return None
        order, weight = region.constant(gather.inputs[1]), region.constant(node.inputs[1])
        if order is None or weight is None or order.ndim != 1 or order.size != weight.shape[1]:
            return None
        if region.dim(gather.inputs[0], 1) != order.size or sorted(order.tolist()) != list(range(order.size)):
            return None
        if not region.only_read_by(gather.outputs[0], node):
            return Refusal(f"the output of {gather.name or gather.op} is also read elsewhere", gather)
        patch = self.patch(region, node, gather)
        turned = np.empty_like(weight)
        turned[:, order] = weight
        patch.add(
            "Conv",
            [gather.inputs[0], patch.constant(turned, node.inputs[1].name), *node.inputs[2:]],
            node.attrs,
            out=node.outputs[0],
        )
        return patch
