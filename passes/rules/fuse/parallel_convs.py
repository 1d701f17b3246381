from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

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
GATES = ("Sigmoid", "HardSigmoid")


@dataclass(frozen=True, slots=True)
class Branch:
    """A Conv and its activation: one node, or a gate and the product of the Conv's output with it."""

    conv: Node
    act: Node
    product: Node | None = None

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.conv, self.act) if self.product is None else (self.conv, self.act, self.product)

    def is_like(self, other: Branch) -> bool:
        """Whether the Convs have the same attributes and the activations are the same."""
        return (
            self.conv.attrs == other.conv.attrs
            and self.act.op == other.act.op
            and self.act.attrs == other.act.attrs
            and (self.product is None) == (other.product is None)
        )


class FuseParallelConvs(Rewrite):
    """Compute Convs that read one value, each with the same activation behind it, as one.

    What    Swish(Conv(x, V)) and Swish(Conv(x, W))  become  Split(Swish(Conv(x, [V; W]))); c·Sigmoid(c) counts as one activation, too.
    Why     The input is read once, and one large product of matrices is faster than two small ones.
    When    The same attributes, constant weights of 1×1 kernels, one group, the same activation with one reader of the Conv; target "portable".
    Not     Grouped convolutions; Convs without an activation, where a Split would only be added; larger windows, whose work hides the reading,
            while the Split is one more copy (nudenet, 3×3: 3 % slower in onnxruntime).
    Safety  ROUNDING: BLAS may add in another order.
    Source  Horizontal fusion; Jia et al. 2019, TASO.
    """

    id = "fuse-parallel-convs"
    safety = Safety.ROUNDING
    roots = ("Conv",)
    targets: ClassVar[tuple[str, ...]] = ("portable",)
    BEFORE = """ g (float[1,3,4,4] x) => (float[1,2,4,4] y, float[1,4,4,4] z) <float[2,3,1,1] v, float[4,3,1,1] w> {
        a = Conv (x, v)  y = Relu (a)  b = Conv (x, w)  z = Relu (b) } """
    AFTER = """ g (float[1,3,4,4] x) => (float[1,2,4,4] y, float[1,4,4,4] z) <float[6,3,1,1] w, int64[2] s = {2, 4}> {
        c = Conv (x, w)  a = Relu (c)  y, z = Split <axis = 1> (a, s) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        own = self._branch(node, region)
        if own is None or region.opset < 2:
            return None
        branches = [own]
        for other in region.readers(node.inputs[0]):
            if other is node or not region.is_plain(other, "Conv") or other.inputs[0] is not node.inputs[0]:
                continue
            branch = self._branch(other, region)
            if branch is not None and own.is_like(branch) and self._alike(own.conv, branch.conv, region):
                branches.append(branch)
        if len(branches) < 2:
            return None
        window = next(w.shape[2:] for b in branches if (w := region.constant(b.conv.inputs[1])) is not None)
        if any(size > 1 for size in window):
            size = "×".join(str(d) for d in window)
            return Refusal(f"with windows of {size} the Split costs more than reading the input once saves", node)
        return self._merge(branches, region)

    def _branch(self, conv: Node, region: Region) -> Branch | None:
        """A mergeable Conv with the activation behind it."""
        if int(conv.attrs.get("group", 1)) != 1 or not region.is_constant(conv.inputs[1]):
            return None
        out = conv.outputs[0]
        if region.is_output(out) or (region.has(conv, 2) and not region.is_constant(conv.inputs[2])):
            return None
        readers = list(out.outputs)
        if len(readers) == 1:
            plain = region.is_plain(readers[0], *ACTIVATIONS) and len(readers[0].inputs) == 1
            return Branch(conv, readers[0]) if plain else None
        gate = next((r for r in readers if region.is_plain(r, *GATES)), None)
        if len(readers) != 2 or gate is None or not region.only_read_by(gate.outputs[0], *readers):
            return None
        product = next((r for r in readers if r is not gate), gate)
        if not region.is_plain(product, "Mul") or not any(t is gate.outputs[0] for t in product.inputs):
            return None
        return Branch(conv, gate, product)

    def _alike(self, a: Node, b: Node, region: Region) -> bool:
        v, w = region.constant(a.inputs[1]), region.constant(b.inputs[1])
        return (
            v is not None
            and w is not None
            and v.shape[1:] == w.shape[1:]
            and v.dtype == w.dtype
            and v.dtype.name in FLOATS
            and not uniform(v)
            and not uniform(w)
        )

    def _merge(self, branches: list[Branch], region: Region) -> Patch | None:
        convs = [branch.conv for branch in branches]
        weights: list[Array] = [w for c in convs if (w := region.constant(c.inputs[1])) is not None]
        first = branches[0]
        patch = self.patch(region, first.conv, *(n for branch in branches for n in branch.nodes))
        inputs: list[Any] = [first.conv.inputs[0], patch.constant(np.concatenate(weights), first.conv.inputs[1].name)]
        if any(region.has(c, 2) for c in convs):
            biases = [self._bias(c, w, region) for c, w in zip(convs, weights, strict=True)]
            inputs.append(patch.constant(np.concatenate(biases), f"{first.conv.inputs[1].name}_bias"))
        made = patch.add("Conv", inputs, first.conv.attrs)
        y = patch.add(first.act.op, [made], first.act.attrs)
        if first.product is not None:
            y = patch.add("Mul", [made, y])
        split(patch, y, [w.shape[0] for w in weights], 1, [branch.nodes[-1].outputs[0] for branch in branches])
        return patch

    def _bias(self, conv: Node, weight: Array, region: Region) -> Array:
        bias = region.constant(conv.inputs[2]) if region.has(conv, 2) else None
        return np.zeros(weight.shape[0], weight.dtype) if bias is None else bias
