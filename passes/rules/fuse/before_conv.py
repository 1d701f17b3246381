from __future__ import annotations

from typing import Any

import numpy as np

from exec.arrays import Array
from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety, not_constant
from passes.patch import Patch
from passes.region import Region
from passes.rules.fuse.linear import FLOATS, Affine, affine_of, times, uniform


class FuseBeforeConv(Rewrite):
    """Fold per-channel arithmetic in front of a Conv (BatchNormalization, Mul, Div, Add, Sub) into its weights.

    What    Conv(x·k + t, W, b)  becomes  Conv(x, W·k, b + ΣW·t), with k and t per input channel.
    Why     Normalized inputs and pre-activation networks: removes one read and write of the activation.
    When    W, k and t are constant and only this Conv reads the result; with a shift, the Conv must not pad.
    Not     A shift in front of padding: the zeros of the padding were not shifted.
    Safety  ROUNDING: the same reals in another order.
    Source  Algebra.
    """

    id = "fuse-before-conv"
    safety = Safety.ROUNDING
    roots = ("Conv",)
    BEFORE = """ g (float[1,4,8,8] x) => (float[1,4,6,6] y) <float[4,4,3,3] w, float[4] scale, float[4] b, float[4] mean, float[4] var> {
        a = BatchNormalization (x, scale, b, mean, var)  y = Conv (a, w) } """
    AFTER = """ g (float[1,4,8,8] x) => (float[1,4,6,6] y) <float[4,4,3,3] w, float[4] b> { y = Conv (x, w, b) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        before = region.producer(node.inputs[0], "BatchNormalization", "Mul", "Div", "Add", "Sub")
        if before is None:
            return None
        weight = region.constant(node.inputs[1])
        if weight is None or weight.dtype.name not in FLOATS:
            return None
        channels = weight.shape[1] * int(node.attrs.get("group", 1))
        for x in before.inputs[:1] if before.op == "BatchNormalization" else before.inputs[:2]:
            if not region.is_constant(x):
                found = affine_of(before, x, channels, 1, weight.ndim, region)
                if found is None or isinstance(found, Refusal):
                    return None
                # broadcasting must not have made the channels: x itself must have them
                if region.shape(x) != region.shape(before.outputs[0]) or region.dim(x, 1) != channels:
                    return None
                return self._fuse(node, before, x, found, weight, region)
        return None

    def _fuse(
        self, node: Node, before: Node, x: Any, affine: Affine, weight: Array, region: Region
    ) -> Patch | Refusal | None:
        name = before.name or before.op
        if not region.only_read_by(before.outputs[0], node):
            return Refusal(f"the output of {name} is also read elsewhere", before)
        if affine.shift is not None and bool((affine.shift != 0).any()) and pads(node):
            return Refusal(f"{name} shifts its input and the Conv pads: the padding is not shifted", node)
        bias: Array | None = None
        if region.has(node, 2):
            bias = region.constant(node.inputs[2])
            if bias is None:
                return Refusal(f"the bias {not_constant(node.inputs[2])}", node)
        patch = self.patch(region, node, before)
        inputs: list[Any] = [x, node.inputs[1]]
        if affine.scale is not None:
            inputs[1] = patch.weight(
                scaled_inputs(weight, affine.scale, int(node.attrs.get("group", 1))), node.inputs[1].name
            )
        if affine.shift is not None and bool((affine.shift != 0).any()):
            moved = _moved(weight, affine.shift, int(node.attrs.get("group", 1)))
            total = moved if bias is None else bias.astype(np.float64) + moved
            inputs.append(patch.constant(total.astype(weight.dtype), f"{node.inputs[1].name}_bias"))
        elif bias is not None:
            inputs.append(node.inputs[2])
        patch.add("Conv", inputs, node.attrs, out=node.outputs[0])
        return patch


def pads(conv: Node) -> bool:
    """Whether a Conv adds zeros around its input."""
    auto = conv.attrs.get("auto_pad", "NOTSET")
    return auto in ("SAME_UPPER", "SAME_LOWER") or (auto == "NOTSET" and any(conv.attrs.get("pads", ())))


def _per_input(values: Array, weight: Array, group: int) -> Array:
    """One number per input channel, laid out as the weight's second axis sees it: (outputs, inputs per group, 1, …)."""
    outs = weight.shape[0] // group
    return np.repeat(values.reshape(group, 1, weight.shape[1]), outs, axis=1).reshape(
        weight.shape[0], weight.shape[1], *(1,) * (weight.ndim - 2)
    )


def scaled_inputs(weight: Array, scale: Array, group: int) -> Array:
    """W·k with k per input channel."""
    factor = scale if uniform(weight) and uniform(scale) else _per_input(scale, weight, group)
    return times(weight, factor, factor.shape)


def _moved(weight: Array, shift: Array, group: int) -> Array:
    """ΣW·t per output channel."""
    products = weight.astype(np.float64) * _per_input(shift, weight, group)
    return np.asarray(products.reshape(weight.shape[0], -1).sum(axis=1))
