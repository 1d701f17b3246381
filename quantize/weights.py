"""Weights and biases as integers, ready to be put into the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.ir import Constant, Node, constant_value
from exec.wording import counted
from quantize.findings import Finding
from quantize.numerics import IntType, Params, bias_params, quantize, weight_params
from quantize.placement import COMPUTE

INT32_REACH = float(2**31 - 1)
HALF_REACH = INT32_REACH / 2
"""A half of the accumulator is for the products, a half for the bias: their sum cannot wrap."""


TURNS = ("Transpose", "Cast", "Identity")
FLOAT = 1  # TensorProto.FLOAT


@dataclass(frozen=True, slots=True)
class Layer:
    """A node's constants, normalised: alpha and beta are in them, the bias is one value a channel or absent.

    axis       of the output channels in the weight
    bias       float, one a channel; None when there is none or it must stay float
    """

    weight: Array
    axis: int
    bias: Array | None
    float_bias: bool
    scaled: bool


def layer_of(node: Node) -> Layer | Finding:
    """Read a node's weight and bias; a finding says why it cannot be quantized."""
    rule = COMPUTE[node.op]
    weight = constant_behind(node.inputs[rule.weight]) if len(node.inputs) > rule.weight else None
    if weight is None:
        return Finding("Q004", "note", node.name, f"the weight of this {node.op} is computed, not a constant")
    if weight.dtype != np.float32:
        return Finding(
            "Q005",
            "note",
            node.name,
            f"its weight is {weight.dtype}",
            "float32 weights are quantized; convert the model first",
        )
    if not weight.size:
        return Finding("Q005", "note", node.name, f"its weight {list(weight.shape)} has no elements")
    if not np.isfinite(weight).all():
        return Finding("Q005", "warning", node.name, "its weight holds NaN or infinity", "`owb check` names the weight")
    axis = _axis(node, weight)
    if axis is None:
        return Finding("Q004", "note", node.name, f"a weight of rank {weight.ndim} has no output channels to scale")
    most = _accumulated(weight, axis, stacked=node.op == "MatMul")
    if most > HALF_REACH:
        text = f"its sums of 8-bit products can reach {most:.2g}, 32 bits hold {INT32_REACH:.2g}: they would wrap"
        return Finding("Q026", "warning", node.name, text, "split the sum into two products, or leave it float")
    alpha, beta = (
        (float(node.attrs.get("alpha", 1.0)), float(node.attrs.get("beta", 1.0))) if node.op == "Gemm" else (1.0, 1.0)
    )
    scaled = alpha != 1.0 or (beta != 1.0 and len(node.inputs) > 2)
    bias, float_bias = _bias(node, rule.bias, weight.shape[axis])
    if float_bias and beta != 1.0:
        scaled = alpha != 1.0
    if alpha != 1.0:
        weight = (weight * np.float32(alpha)).astype(np.float32)
    if bias is not None and beta != 1.0:
        bias = (bias * np.float32(beta)).astype(np.float32)
    return Layer(weight, axis, bias, float_bias, scaled)


def constant_behind(tensor: Any) -> Array | None:
    """The constant a value is, or is turned from by Transpose, Cast to float and Identity: a tied weight keeps those for its other readers."""
    value = constant_value(tensor)
    if value is not None or not tensor.inputs:
        return value
    step = tensor.inputs[0]
    if step.domain or step.op not in TURNS:
        return None
    value = constant_behind(step.inputs[0])
    if value is None or step.op == "Identity":
        return value
    if step.op == "Transpose":
        return np.ascontiguousarray(value.transpose(step.attrs.get("perm") or None))
    return value.astype(np.float32) if step.attrs.get("to") == FLOAT else None


def _axis(node: Node, weight: Array) -> int | None:
    if node.op == "Gemm":
        return 0 if node.attrs.get("transB", 0) else 1
    if node.op == "MatMul":
        return weight.ndim - 1 if weight.ndim >= 2 else None
    return 0 if node.op == "Conv" else 1


def _accumulated(weight: Array, axis: int, *, stacked: bool) -> float:
    """The largest sum of products of 8-bit inputs with this weight's integers."""
    others = (axis - 1,) if stacked else tuple(k for k in range(weight.ndim) if k != axis)
    magnitude = np.abs(weight)
    top, total = magnitude.max(others), magnitude.sum(others, dtype=np.float64)
    share = np.divide(total, top, out=np.zeros_like(total), where=top > 0)
    return float(share.max(initial=0.0)) * 255 * 127


def _bias(node: Node, place: int | None, channels: int) -> tuple[Array | None, bool]:
    """(one value a channel, whether a bias exists that cannot be written so)."""
    if (
        place is None
        or len(node.inputs) <= place
        or not (node.inputs[place].name or isinstance(node.inputs[place], Constant))
    ):
        return None, False
    value = constant_value(node.inputs[place])
    if value is None or value.dtype != np.float32 or not np.isfinite(value).all():
        return None, True
    if value.ndim > 1 and any(d != 1 for d in value.shape[:-1]):
        return None, True
    if value.size not in (1, channels):
        return None, True
    return np.broadcast_to(value.reshape(-1), (channels,)).astype(np.float32), False


def integer_weight(
    node: Node, layer: Layer, kind: IntType, activation: Params, per_channel: bool
) -> tuple[Array, Params, list[Finding]]:
    """The weight's integers and scales; a scale is widened where the int32 bias would not fit beside it."""
    grouped = node.op == "ConvTranspose" and node.attrs.get("group", 1) != 1
    stacked = node.op == "MatMul" and layer.weight.ndim > 2  # onnxruntime's fused kernel takes no column scales there
    how = weight_params(layer.weight, kind, layer.axis if per_channel and not (grouped or stacked) else None)
    findings: list[Finding] = []
    if layer.bias is not None and not kind.is_float:
        how, widened = _room_for_bias(how, layer.bias, activation)
        if widened:
            findings.append(
                Finding(
                    "Q021", "note", node.name, f"{counted(widened, 'channel')}: the bias is large beside the weight"
                )
            )
    dead = int((np.abs(layer.weight).max(tuple(k for k in range(layer.weight.ndim) if k != layer.axis)) == 0).sum())
    if dead:
        findings.append(
            Finding(
                "Q010",
                "note",
                node.name,
                f"{dead} output channels have a weight of zero",
                "`owb optimize` can remove dead channels",
            )
        )
    return quantize(layer.weight, how), how, findings


def _room_for_bias(how: Params, bias: Array, activation: Params) -> tuple[Params, int]:
    least = np.abs(bias.astype(np.float64)) / HALF_REACH / float(activation.scale)
    if how.axis is None or how.scale.ndim == 0:
        least = np.asarray(least.max(initial=0.0))
    scale = np.maximum(how.scale.astype(np.float64), least).astype(np.float32)
    return Params(scale, how.zero_point, how.kind, how.axis), int(np.count_nonzero(scale > how.scale))


def integer_bias(bias: Array, activation: Params, weight: Params) -> tuple[Array, Params]:
    """The bias on the accumulator's grid."""
    how = bias_params(activation, weight)
    if how.scale.ndim == 0:
        how = Params(how.scale, how.zero_point, how.kind, None)
    return quantize(bias, how), how
