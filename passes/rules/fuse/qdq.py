from __future__ import annotations

from typing import Any

import numpy as np

from exec.ir import Node
from passes.base import Refusal, Rewrite
from passes.patch import Patch
from passes.region import Region

MOVERS = ("Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten")


def same_scale(a: Node, b: Node, region: Region) -> bool:
    """Whether two quantization nodes use the same constant scale and zero point."""
    if a.attrs.get("axis", 1) != b.attrs.get("axis", 1) or a.attrs.get("block_size", 0) != b.attrs.get("block_size", 0):
        return False
    for i in (1, 2):
        if region.has(a, i) != region.has(b, i):
            return False
        if not region.has(a, i) or a.inputs[i] is b.inputs[i]:
            continue
        x, y = (region.constant(n.inputs[i]) if region.is_constant(n.inputs[i]) else None for n in (a, b))
        if x is None or y is None or x.shape != y.shape or x.dtype != y.dtype or not bool((x == y).all()):
            return False
    return True


def holds_integers(node: Node, dtype: Any, region: Region) -> bool:
    """Whether (q − z)·s of every q is finite in the scale's type, and exact enough to give q back."""
    kind = region.dtype(node.inputs[1])
    if kind is None or kind.name == "float32":
        scale = region.constant(node.inputs[1])
        return kind is not None and (dtype.itemsize == 1 or scale is None or float(np.abs(scale).max()) < 1e30)
    scale = region.constant(node.inputs[1])
    if dtype.itemsize > 1 or scale is None or kind.name != "float16":
        return False
    return bool((np.abs(scale.astype(np.float64)) * 255 < 65_000).all() and (np.abs(scale) >= 2.0**-14).all())


def is_per_tensor(node: Node, region: Region) -> bool:
    """Whether a quantization node has one scale for all elements."""
    return region.shape(node.inputs[1]) in ((), (1,))


class EliminateDoubleQuantization(Rewrite):
    """Remove a DequantizeLinear and QuantizeLinear between which nothing happens.

    What    QuantizeLinear(DequantizeLinear(q, s, z), s, z)  becomes  q.
    Why     Dequantizing and quantizing with one scale gives the same integers.
    When    The same scale and zero point, and integers of at most 16 bits.
    Not     Another scale: that is a requantization.
    Safety  EXACT: (q − z)·s / s rounds to q − z.
    Source  ONNX QuantizeLinear.
    """

    id = "eliminate-double-quantization"
    roots = ("QuantizeLinear",)
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) <float s = {0.1}, int8 z = {0}> {
        a = QuantizeLinear (x, s, z)  b = DequantizeLinear (a, s, z)  c = QuantizeLinear (b, s, z)  d = DequantizeLinear (c, s, z)  y = Relu (d) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) <float s = {0.1}, int8 z = {0}> {
        a = QuantizeLinear (x, s, z)  d = DequantizeLinear (a, s, z)  y = Relu (d) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        before = region.producer(node.inputs[0], "DequantizeLinear")
        if before is None:
            return None
        q, out = before.inputs[0], node.outputs[0]
        dtype = region.dtype(q)
        if dtype is None or dtype != region.dtype(out) or dtype.kind not in "iu" or dtype.itemsize > 2:
            return None
        if not same_scale(before, node, region):
            return Refusal("it quantizes with another scale", node)
        if not holds_integers(before, dtype, region):
            return Refusal("the scale's type may not hold the numbers in between", node)
        patch = self.patch(region, node, before)
        patch.replace(out, q)
        return patch


class MoveQuantizationThrough(Rewrite):
    """Move elements while they are still small integers.

    What    Quantize(Transpose(Dequantize(q)))  with one scale  becomes  Transpose(q).
    Why     A quarter of the bytes to move, and two nodes less.
    When    Transpose, Reshape and kin; the same scale for the whole tensor on both sides.
    Not     Scales per channel, whose axis moves.
    Safety  EXACT: the elements only move.
    Source  ONNX QuantizeLinear.
    """

    id = "move-quantization-through"
    roots = ("QuantizeLinear",)
    BEFORE = """ g (float[2,3] x) => (float[3,2] y) <float s = {0.1}, int8 z = {0}> {
        a = QuantizeLinear (x, s, z)  b = DequantizeLinear (a, s, z)  c = Transpose <perm = [1, 0]> (b)
        d = QuantizeLinear (c, s, z)  e = DequantizeLinear (d, s, z)  y = Relu (e) } """
    AFTER = """ g (float[2,3] x) => (float[3,2] y) <float s = {0.1}, int8 z = {0}> {
        a = QuantizeLinear (x, s, z)  c = Transpose <perm = [1, 0]> (a)  d = DequantizeLinear (c, s, z)  y = Relu (d) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        mover = region.producer(node.inputs[0], *MOVERS)
        before = None if mover is None else region.producer(mover.inputs[0], "DequantizeLinear")
        if mover is None or before is None or not is_per_tensor(node, region) or not same_scale(before, node, region):
            return None
        dtype = region.dtype(before.inputs[0])
        if dtype is None or dtype != region.dtype(node.outputs[0]) or dtype.kind not in "iu" or dtype.itemsize > 2:
            return None
        if not holds_integers(before, dtype, region):
            return Refusal("the scale's type may not hold the numbers in between", node)
        if not region.only_read_by(mover.outputs[0], node):
            return Refusal(f"the output of {mover.name or mover.op} is also read elsewhere", mover)
        patch = self.patch(region, node, before, mover)
        patch.add(mover.op, [before.inputs[0], *mover.inputs[1:]], mover.attrs, out=node.outputs[0])
        return patch


class EliminateReluBeforeQuantize(Rewrite):
    """Leave out a Relu whose work the quantization does.

    What    QuantizeLinear(Relu(x), s, 0 of uint8)  becomes  QuantizeLinear(x, s, 0 of uint8).
    Why     The smallest integer stands for 0: saturation is the Relu.
    When    The zero point is the smallest value of its type, and only the QuantizeLinear reads the Relu.
    Not     A zero point above the smallest value.
    Safety  EXACT: every negative number saturates to the zero point.
    Source  ONNX QuantizeLinear.
    """

    id = "eliminate-relu-before-quantize"
    roots = ("QuantizeLinear",)
    BEFORE = """ g (float[2,3] x) => (float[2,3] y) <float s = {0.1}, uint8 z = {0}> {
        a = Relu (x)  b = QuantizeLinear (a, s, z)  y = DequantizeLinear (b, s, z) } """
    AFTER = """ g (float[2,3] x) => (float[2,3] y) <float s = {0.1}, uint8 z = {0}> { b = QuantizeLinear (x, s, z)  y = DequantizeLinear (b, s, z) } """

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        relu = region.producer(node.inputs[0], "Relu")
        if relu is None:
            return None
        made = region.dtype(node.outputs[0])
        absent = np.zeros(1, np.uint8 if made is None else made)
        zero: Any = region.constant(node.inputs[2]) if region.has(node, 2) else absent
        scale = region.constant(node.inputs[1])
        if (
            zero is None
            or zero.dtype.name not in ("uint8", "int8", "uint16", "int16")
            or scale is None
            or not bool((scale > 0).all())
        ):
            return None
        if not bool((zero == np.iinfo(zero.dtype).min).all()):
            return Refusal("the zero point is not the smallest value of its type", node)
        if not region.only_read_by(relu.outputs[0], node):
            return Refusal(f"the output of {relu.name or relu.op} is also read elsewhere", relu)
        patch = self.patch(region, node, relu)
        patch.add("QuantizeLinear", [relu.inputs[0], *node.inputs[1:]], node.attrs, out=node.outputs[0])
        return patch
