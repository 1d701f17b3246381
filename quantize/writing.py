"""Weights, biases and activations as integers in the graph: QuantizeLinear and DequantizeLinear around every chosen node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.ir import Graph, Variable
from exec.metrics import sqnr_db
from quantize.choose import Choice
from quantize.findings import Finding
from quantize.gptq import Products, rounded
from quantize.numerics import TYPES, Params, dequantize
from quantize.placement import COMPUTE
from quantize.qdq import Writer
from quantize.regions import Region
from quantize.weights import integer_bias, integer_weight

_PART = 1 << 20  # elements of a weight compared at a time


class Writing:
    """Puts one choice of nodes into the graph; the writer's edits still have to be applied.

    weight_db  how exact each node's weight is, by node name
    """

    def __init__(
        self, graph: Graph, weights: str, per_channel: bool, activations: str, region: Region, ranges: Mapping[str, Params], findings: list[Finding]
    ) -> None:  # fmt: skip
        self.writer, self.region, self.ranges, self.findings = Writer(graph), region, ranges, findings
        self.kind, self.per_channel = TYPES[weights], per_channel
        self.integer_bias = TYPES[activations].bits == 8 and not self.kind.is_float
        self.weight_db: dict[str, float] = {}
        self._axes: dict[int, set[int]] = {}

    def params(self, tensor: Variable) -> Params:
        """The scale a value is read with: its own, or that of the value it was moved from."""
        return self.ranges[self.region.scales.get(tensor.name, tensor.name)]

    def write(
        self, chosen: Sequence[Choice], products: Mapping[str, Products], known: dict[Any, Array], means: Mapping[str, Array]
    ) -> None:  # fmt: skip
        """All of it.

        products  Σ x·xᵀ by name of what a node reads: its weight is rounded so that errors cancel
        known     weights that were rounded so before, by node; grows
        means     of each channel of what a node reads: its bias takes up what rounding does to them
        """
        for choice in chosen:
            self._constants(choice, products, known, means)
        made = {**self.region.made, **{t.name: t for t in self.region.moved}}
        for tensor in made.values():
            self.writer.made(tensor.inputs[0], tensor, self.params(tensor))
        for choice in chosen:
            if choice.source.name not in made:
                self.writer.read(choice.node, 0, self.params(choice.source))

    def _constants(
        self, choice: Choice, products: Mapping[str, Products], known: dict[Any, Array], means: Mapping[str, Array]
    ) -> None:  # fmt: skip
        node, layer, rule = choice.node, choice.layer, COMPUTE[choice.node.op]
        how = self.params(choice.source)
        original = node.inputs[rule.weight]
        integers, scales, remarks = integer_weight(node, layer, self.kind, how, self.per_channel)
        self.findings += remarks
        integers = self._cancelled(choice, integers, scales, products, known)
        self.weight_db[node.name] = _exactness(layer.weight, integers, scales)
        self.writer.weight(node, rule.weight, integers, scales, layer.axis)
        self._axes.setdefault(id(original), set()).add(layer.axis)
        if len(self._axes[id(original)]) > 1:
            self.findings.append(Finding("Q022", "note", node.name, f"{original.name} is also read along another axis"))
        if layer.bias is not None and rule.bias is not None and self.integer_bias:
            drift = _drift(choice, integers, scales, means.get(choice.source.name))
            bias, grid = integer_bias(layer.bias if drift is None else layer.bias + drift, how, scales)
            self.writer.weight(node, rule.bias, bias, grid, 0)
        elif layer.float_bias:
            self.findings.append(Finding("Q020", "note", node.name, "its bias is not one constant a channel"))
        if layer.scaled:
            if layer.bias is not None and not self.integer_bias and rule.bias is not None:
                node.inputs[rule.bias] = self.writer.constant(f"{node.name}_bias", layer.bias)
            for key in ("alpha", *(() if layer.float_bias else ("beta",))):
                node.attrs.pop(key, None)
            self.findings.append(Finding("Q023", "note", node.name, "alpha and beta are part of the weights now"))

    def _cancelled(
        self, choice: Choice, integers: Array, scales: Params, products: Mapping[str, Products], known: dict[Any, Array]
    ) -> Array:
        """The integers rounded so that their errors cancel, where the layer is a product and its inputs were watched."""
        watched = products.get(choice.source.name)
        if self.kind.is_float or watched is None or watched.total is None or not choice.is_product:
            return integers
        key = (choice.node.name, scales.scale.tobytes(), scales.kind.name)
        if key not in known:
            turned = np.moveaxis(choice.layer.weight, choice.layer.axis, 0)
            better = rounded(turned.reshape(len(turned), -1), scales, watched.total)
            if better is None:
                return integers
            known[key] = np.ascontiguousarray(np.moveaxis(better.reshape(turned.shape), 0, choice.layer.axis))
        return known[key]


def _drift(choice: Choice, integers: Array, scales: Params, mean: Array | None) -> Array | None:
    """What the rounding of the weight takes from the mean of each output channel: (W − W′)·E[x]."""
    weight, axis = choice.layer.weight, choice.layer.axis
    if mean is None or int(choice.node.attrs.get("group", 1)) != 1 or choice.node.op == "ConvTranspose":
        return None
    gap = np.moveaxis(weight - dequantize(integers, scales), axis, 0)
    gap = gap.reshape(len(gap), gap.shape[1] if gap.ndim > 1 else 1, -1).sum(2)
    return (gap @ mean).astype(np.float32) if gap.shape[1] == len(mean) else None


def _exactness(weight: Array, integers: Array, scales: Params) -> float:
    """SQNR in dB of a weight, of a large one along the first elements only."""
    share = max(1, _PART // max(1, weight[:1].size)) if weight.ndim else 1
    if scales.axis == 0 and scales.scale.ndim:
        scales = Params(scales.scale[:share], scales.zero_point[:share], scales.kind, 0)
    return sqnr_db(weight[:share], dequantize(integers[:share], scales))
