from __future__ import annotations

from typing import Any

import numpy as np

from exec.ir import Node
from passes.base import Refusal, Rewrite, Safety
from passes.patch import Patch
from passes.region import Region
from passes.rules.fuse.qdq import is_per_tensor

BYTES = (np.dtype(np.int8), np.dtype(np.uint8))


class FuseQuantizedConv(Rewrite):
    """Convolve integers instead of what they stand for.

    What    QuantizeLinear(Conv(DequantizeLinear(x), DequantizeLinear(W), DequantizeLinear(b)))  becomes  QLinearConv.
    Why     Four nodes less, for runtimes that run QLinearConv and do not see the pattern themselves.
    When    Preset "aggressive"; 8 bits, one scale for x and for the result, one or one per output channel for W; b is int32 in steps of both.
    Not     By default: runtimes look for the pattern, and every other tool reads it. A bias in float.
    Safety  APPROXIMATE: where the sum lies halfway between two integers, the result may be the other one: one step of the result's scale.
    Source  ONNX QLinearConv; the QDQ and QOperator formats of onnxruntime.
    """

    id = "fuse-quantized-conv"
    safety, bound = Safety.APPROXIMATE, 1 / 128
    needs = 10
    roots = ("QuantizeLinear",)
    BEFORE = """ g (uint8[1,2,4,4] x) => (float[1,3,2,2] y) <float sx = {0.02}, uint8 zx = {128}, int8[3,2,3,3] w, float sw = {0.01}, int8 zw = {0},
        float sy = {0.00133}, uint8 zy = {128}> {
        a = DequantizeLinear (x, sx, zx)  b = DequantizeLinear (w, sw, zw)  c = Conv (a, b)  q = QuantizeLinear (c, sy, zy)  y = DequantizeLinear (q, sy, zy) } """
    AFTER = """ g (uint8[1,2,4,4] x) => (float[1,3,2,2] y) <float sx, uint8 zx, int8[3,2,3,3] w, float sw, int8 zw, float sy, uint8 zy> {
        q = QLinearConv (x, sx, zx, w, sw, zw, sy, zy)  y = DequantizeLinear (q, sy, zy) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        conv = region.producer(node.inputs[0], "Conv")
        if conv is None:
            return None
        x, w = (region.producer(t, "DequantizeLinear") for t in conv.inputs[:2])
        if x is None or w is None:
            return None
        ends = [region.dtype(t) for t in (x.inputs[0], w.inputs[0], node.outputs[0])]
        if any(t not in BYTES for t in ends) or not is_per_tensor(x, region) or not is_per_tensor(node, region):
            return None
        if not _one_per_channel(w, region) or any(n.attrs.get("block_size", 0) for n in (x, w, node)):
            return Refusal("the weight has another scale than one per output channel", w)
        if not region.only_read_by(conv.outputs[0], node):
            return Refusal(f"the output of {conv.name or conv.op} is also read elsewhere", conv)
        bias = _bias(conv, x, w, region) if region.has(conv, 2) else ()
        if bias is None:
            return Refusal("the bias is no int32 in steps of the input's scale times the weight's", conv)
        patch = self.patch(region, node, conv)
        inputs = [*_quantized(x, patch, region), *_quantized(w, patch, region), *_steps(node, patch, region), *bias]
        patch.add("QLinearConv", inputs, conv.attrs, out=node.outputs[0])
        return patch


def _one_per_channel(w: Node, region: Region) -> bool:
    """Whether the weight, a constant, has one scale, or one for each output channel."""
    values, scale = region.constant(w.inputs[0]), region.constant(w.inputs[1])
    if values is None or scale is None or scale.dtype != np.float32:
        return False
    return scale.size == 1 or (scale.shape == values.shape[:1] and int(w.attrs.get("axis", 1)) % values.ndim == 0)


def _quantized(node: Node, patch: Patch, region: Region) -> list[Any]:
    """The integers a DequantizeLinear reads, their scale and their zero point."""
    return [node.inputs[0], *_steps(node, patch, region)]


def _steps(node: Node, patch: Patch, region: Region) -> list[Any]:
    """Scale and zero point; a zero point that is left out is 0."""
    if region.has(node, 2):
        return [node.inputs[1], node.inputs[2]]
    integers = node.inputs[0] if node.op == "DequantizeLinear" else node.outputs[0]
    dtype, shape = region.dtype(integers), region.shape(node.inputs[1]) or ()
    sizes = [d for d in shape if isinstance(d, int)]
    return [node.inputs[1], patch.constant(np.zeros(sizes, dtype), f"{node.inputs[1].name}_zero")]


def _bias(conv: Node, x: Node, w: Node, region: Region) -> tuple[Any, ...] | None:
    """The int32 behind the bias, if its scale is that of the products."""
    given = region.producer(conv.inputs[2], "DequantizeLinear")
    if given is None or region.dtype(given.inputs[0]) != np.dtype(np.int32):
        return None
    scales = [region.constant(n.inputs[1]) for n in (x, w, given)]
    zero = region.constant(given.inputs[2]) if region.has(given, 2) else np.zeros(1)
    if any(s is None for s in scales) or zero is None or zero.any():
        return None
    input_scale, weight_scale, own = (np.asarray(s, np.float32).reshape(-1) for s in scales if s is not None)
    return (given.inputs[0],) if np.allclose(own, input_scale * weight_scale, rtol=1e-6, atol=0) else None
