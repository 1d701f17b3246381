"""Layers that are linear in a constant weight, and the per-channel arithmetic that can be folded into them.

`Linear.of(node)` reads a Conv, ConvTranspose, Gemm or MatMul; `Affine.of(node)` reads a BatchNormalization, or an Add, Sub, Mul or Div with a
constant. A fusion multiplies one by the other in float64 and rounds once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.ir import Node
from passes.base import Refusal, not_constant
from passes.patch import Patch
from passes.read import per_channel
from passes.region import Region

FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})


@dataclass(slots=True)
class Affine:
    """y = x * scale + shift per channel; None for a part that is not there."""

    scale: Array | None
    shift: Array | None


@dataclass(slots=True)
class Linear:
    """A layer with a constant weight.

    channels  outputs per position; `axis` is their axis in the result, `rank` the result's rank
    bias      one number per channel, or for Gemm whatever broadcasts to the result; None if absent
    """

    node: Node
    weight: Array
    bias: Array | None
    channels: int
    axis: int
    rank: int

    @classmethod
    def of(cls, node: Node, region: Region) -> Linear | Refusal | None:
        """What the layer is, or why its weights cannot be folded into."""
        weight = region.constant(node.inputs[1])
        if weight is None:
            return Refusal(f"the weight {not_constant(node.inputs[1])}", node)
        if weight.dtype.name not in FLOATS:
            return None
        bias: Array | None = None
        if node.op != "MatMul" and region.has(node, 2):
            bias = region.constant(node.inputs[2])
            if bias is None:
                return Refusal(f"the bias {not_constant(node.inputs[2])}", node)
        if node.op in ("Conv", "ConvTranspose"):
            if weight.ndim < 3:
                return None
            group = int(node.attrs.get("group", 1))
            if group < 1 or weight.shape[0] % group:
                return None
            channels = weight.shape[0] if node.op == "Conv" else weight.shape[1] * group
            return cls(node, weight, bias, channels, 1, weight.ndim)
        if node.op == "Gemm":
            return cls(node, weight, bias, weight.shape[0 if node.attrs.get("transB", 0) else 1], 1, 2)
        rank = region.rank(node.outputs[0])
        if weight.ndim < 2 or rank is None or rank < 2:
            return None
        return cls(node, weight, None, weight.shape[-1], rank - 1, rank)

    def scaled(self, scale: Array) -> Array:
        """The weight with its outputs multiplied by `scale`."""
        w = self.weight
        if self.node.op == "Conv":
            return times(w, scale, (-1, *(1,) * (w.ndim - 1)))
        if self.node.op == "ConvTranspose":
            group = int(self.node.attrs.get("group", 1))
            if not uniform(w) or not uniform(scale):
                inputs = w.shape[0] // group
                split = np.ascontiguousarray(w).reshape(group, inputs, *w.shape[1:])
                factor = scale.reshape(group, 1, w.shape[1], *(1,) * (w.ndim - 2))
                return times(split, factor, factor.shape).reshape(w.shape)
            return times(w, scale, ())
        if self.node.op == "Gemm" and self.node.attrs.get("transB", 0):
            return times(w, scale, (-1, 1))
        return times(w, scale, (1,) * (w.ndim - 1) + (-1,))

    def write(self, patch: Patch, affine: Affine, out: Any) -> None:
        """Add the layer with `affine` folded in, making `out`. A MatMul with a shift takes an Add with it."""
        node, dtype = self.node, self.weight.dtype
        inputs: list[Any] = [node.inputs[0], node.inputs[1]]
        if affine.scale is not None:
            inputs[1] = patch.weight(self.scaled(affine.scale), node.inputs[1].name)
        if node.op == "MatMul":
            shift = affine.shift
            y = patch.add("MatMul", inputs, out=out if shift is None else None)
            if shift is not None:
                patch.add("Add", [y, patch.constant(shift.astype(dtype), f"{node.outputs[0].name}_bias")], out=out)
            return
        attrs = dict(node.attrs)
        bias = self.bias
        if node.op == "Gemm":
            beta = attrs.pop("beta", 1.0)
            bias = None if bias is None else bias.astype(np.float64) * beta
        if affine.scale is not None and bias is not None:
            bias = (
                times(bias, affine.scale, (-1,))
                if bias.ndim == 1 and node.op != "Gemm"
                else bias.astype(np.float64) * affine.scale
            )
        if affine.shift is not None:
            bias = affine.shift if bias is None else plus(bias, affine.shift)
        if bias is not None:
            hint = (
                node.inputs[2].name if len(node.inputs) > 2 and node.inputs[2].name else f"{node.inputs[1].name}_bias"
            )
            inputs.append(patch.weight(bias if bias.dtype == dtype else rounded(bias, dtype), hint))
        patch.add(node.op, inputs, attrs, out=out)


def rounded(array: Array, dtype: np.dtype[Any]) -> Array:
    if uniform(array):
        return np.broadcast_to(array.reshape(-1)[0].astype(dtype), array.shape)
    return array.astype(dtype)


def uniform(array: Array) -> bool:
    """Whether the array is one element repeated, as a view."""
    return array.size > 0 and not any(array.strides)


def repeated(array: Array | None) -> Array | None:
    """The array, as a view of one element where all are the same."""
    if array is None or uniform(array) or array.size == 0:
        return array
    first = array.reshape(-1)[:1]
    same = array.tobytes() == first.tobytes() * array.size
    return np.broadcast_to(first[0], array.shape) if same else array


def times(array: Array, scale: Array, shape: tuple[int, ...]) -> Array:
    """array · scale in float64, in the array's type; what repeats one element still does."""
    if uniform(array) and uniform(scale):
        return np.broadcast_to(
            (array.reshape(-1)[0].astype(np.float64) * scale.reshape(-1)[0]).astype(array.dtype), array.shape
        )
    out = np.empty(array.shape, array.dtype)
    # buffered: no float64 copy of a large weight
    np.multiply(array, scale.reshape(shape), out=out, dtype=np.float64, casting="same_kind")
    return out


def plus(array: Array, shift: Array) -> Array:
    if uniform(array) and uniform(shift) and array.shape == shift.shape:
        return np.broadcast_to(array.reshape(-1)[0].astype(np.float64) + shift.reshape(-1)[0], array.shape)
    return array.astype(np.float64) + shift


def affine_of(node: Node, x: Any, channels: int, axis: int, rank: int, region: Region) -> Affine | Refusal | None:
    """What `node` does to `x`, one of its inputs, per channel of `axis`."""
    if node.op == "BatchNormalization":
        return batch_norm(node, channels, region) if axis == 1 or rank == 2 else None
    if len(node.inputs) != 2 or node.op not in ("Add", "Sub", "Mul", "Div"):
        return None
    first = node.inputs[0] is x
    other = node.inputs[1] if first else node.inputs[0]
    constant = region.constant(other)
    if constant is None:
        return Refusal(not_constant(other), node)
    if constant.dtype.name not in FLOATS:
        return None
    if region.opset < 7 and node.attrs.get("broadcast", 0):
        return None
    values = per_channel(constant, rank, channels, axis)
    if values is None:
        return Refusal(f"{other.name} {list(constant.shape)} is not one number per channel", node)
    values = (
        values.astype(np.float64)
        if not uniform(values)
        else np.broadcast_to(values[0].astype(np.float64), values.shape)
    )
    if node.op == "Mul":
        return Affine(values, None)
    if node.op == "Add":
        return Affine(None, values)
    if node.op == "Sub":
        return Affine(None, -values) if first else Affine(np.broadcast_to(np.float64(-1.0), values.shape), values)
    if not first or bool((values == 0).any()):
        return None
    return Affine(1.0 / values, None)


def batch_norm(node: Node, channels: int, region: Region) -> Affine | Refusal | None:
    """An inference BatchNormalization as scale and shift."""
    if node.attrs.get("training_mode", 0) or any(not region.is_unread(t) for t in node.outputs[1:]):
        return Refusal("it runs in training mode", node)
    if region.opset < 7 and not node.attrs.get("is_test", 0):
        return Refusal("it runs in training mode (is_test is 0)", node)
    if not node.attrs.get("spatial", 1):
        return Refusal("it normalizes each position by itself (spatial is 0)", node)
    arrays = [region.constant(t) for t in node.inputs[1:5]]
    if any(a is None for a in arrays):
        tensor = next(t for t, a in zip(node.inputs[1:5], arrays, strict=True) if a is None)
        return Refusal(not_constant(tensor), node)
    if any(a is None or a.shape != (channels,) for a in arrays):
        return None
    epsilon = node.attrs.get("epsilon", 1e-5)
    flat = all(a is not None and uniform(a) for a in arrays)
    gamma, beta, mean, variance = ((a[:1] if flat else a).astype(np.float64) for a in arrays if a is not None)
    scale = gamma / np.sqrt(variance + epsilon)
    shift = beta - mean * scale
    if flat:
        return Affine(np.broadcast_to(scale[0], (channels,)), np.broadcast_to(shift[0], (channels,)))
    return Affine(scale, shift)
