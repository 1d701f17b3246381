from __future__ import annotations

from typing import Any

import numpy as np

from exec.arrays import Array
from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.region import Region
from passes.rules.fuse.linear import FLOATS, uniform
from passes.write import split

ACTIVATIONS = (
    "Relu",
    "LeakyRelu",
    "Sigmoid",
    "Tanh",
    "HardSwish",
    "HardSigmoid",
    "Swish",
    "Mish",
    "Gelu",
    "Elu",
    "Selu",
    "Softplus",
)


class FuseParallelConvs(Rewrite):
    """Compute Convs that read one value, each with the same activation behind it, as one.

    What    Swish(Conv(x, V)) and Swish(Conv(x, W))  become  Split(Swish(Conv(x, [V; W]))).
    Why     The input is read once, and one large product of matrices is faster than two small ones.
    When    The same attributes, constant weights of one kernel shape, one group, the same activation with one reader of the Conv.
    Not     Grouped convolutions; Convs without an activation, where a Split would only be added.
    Safety  ROUNDING: BLAS may add in another order.
    Source  Horizontal fusion; Jia et al. 2019, TASO.
    """

    id = "fuse-parallel-convs"
    safety = Safety.ROUNDING
    roots = ("Conv",)
    BEFORE = """ g (float[1,3,4,4] x) => (float[1,2,4,4] y, float[1,4,4,4] z) <float[2,3,1,1] v, float[4,3,1,1] w> {
        a = Conv (x, v)  y = Relu (a)  b = Conv (x, w)  z = Relu (b) } """
    AFTER = """ g (float[1,3,4,4] x) => (float[1,2,4,4] y, float[1,4,4,4] z) <float[6,3,1,1] w, int64[2] s = {2, 4}> {
        c = Conv (x, w)  a = Relu (c)  y, z = Split <axis = 1> (a, s) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        own = self._branch(node, region)
        if own is None:
            return None
        branches = [(node, own)]
        for other in region.readers(node.inputs[0]):
            if other is node or not region.is_plain(other, "Conv") or other.inputs[0] is not node.inputs[0]:
                continue
            act = self._branch(other, region)
            if act is not None and self._alike(node, own, other, act, region):
                branches.append((other, act))
        if len(branches) < 2 or region.opset < 2:
            return None
        return self._merge(branches, region)

    def _branch(self, conv: Node, region: Region) -> Node | None:
        """The activation behind a mergeable Conv."""
        if int(conv.attrs.get("group", 1)) != 1 or not region.is_constant(conv.inputs[1]):
            return None
        out = conv.outputs[0]
        if (
            region.is_output(out)
            or len(out.outputs) != 1
            or (region.has(conv, 2) and not region.is_constant(conv.inputs[2]))
        ):
            return None
        reader: Node = out.outputs[0]
        return reader if region.is_plain(reader, *ACTIVATIONS) and len(reader.inputs) == 1 else None

    def _alike(self, a: Node, act_a: Node, b: Node, act_b: Node, region: Region) -> bool:
        v, w = region.constant(a.inputs[1]), region.constant(b.inputs[1])
        return (
            a.attrs == b.attrs
            and act_a.op == act_b.op
            and act_a.attrs == act_b.attrs
            and v is not None
            and w is not None
            and v.shape[1:] == w.shape[1:]
            and v.dtype == w.dtype
            and v.dtype.name in FLOATS
            and not uniform(v)
            and not uniform(w)
        )

    def _merge(self, branches: list[tuple[Node, Node]], region: Region) -> Patch | None:
        convs = [conv for conv, _ in branches]
        weights: list[Array] = [w for c in convs if (w := region.constant(c.inputs[1])) is not None]
        first = convs[0]
        patch = self.patch(region, first, *convs[1:], *(act for _, act in branches))
        inputs: list[Any] = [first.inputs[0], patch.constant(np.concatenate(weights), first.inputs[1].name)]
        if any(region.has(c, 2) for c in convs):
            biases = [self._bias(c, w, region) for c, w in zip(convs, weights, strict=True)]
            inputs.append(patch.constant(np.concatenate(biases), f"{first.inputs[1].name}_bias"))
        y = patch.add("Conv", inputs, first.attrs)
        activation = branches[0][1]
        y = patch.add(activation.op, [y], activation.attrs)
        split(patch, y, [w.shape[0] for w in weights], 1, [act.outputs[0] for _, act in branches])
        return patch

    def _bias(self, conv: Node, weight: Array, region: Region) -> Array:
        bias = region.constant(conv.inputs[2]) if region.has(conv, 2) else None
        return np.zeros(weight.shape[0], weight.dtype) if bias is None else bias
