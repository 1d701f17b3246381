"""Dynamic: weights as integers in the file, the range of every activation measured when it is read, float results.

x → DynamicQuantizeLinear → MatMulInteger / ConvInteger (int32) → Cast → · (x_scale · w_scale) → + bias
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exec.arrays import Array
from exec.ir import Constant, Model, Node, Variable, prune
from exec.metrics import sqnr_db
from exec.wording import counted
from quantize.choose import Shapes, in_subgraphs, work_of
from quantize.findings import Finding
from quantize.halves import store_halves
from quantize.numerics import TYPES, Params, dequantize, quantize, weight_params
from quantize.placement import COMPUTE
from quantize.qdq import Writer
from quantize.report import QuantizedNode
from quantize.selection import Selector, matching
from quantize.weights import Layer, layer_of

LEAST_ELEMENTS = 1024


def quantize_dynamic(
    model: Model, weights: str, *, shapes: Shapes, per_channel: bool, include: tuple[Selector, ...], exclude: tuple[Selector, ...], preset: str
) -> tuple[list[QuantizedNode], list[Finding]]:  # fmt: skip
    """Rewrite `model` in place. Convolutions are taken on request only: runtimes compute ConvInteger slower than float.

    shapes  of the values of one sample: what the report says of the work is at these
    """
    candidates = [n for n in model.graph.nodes if n.op in COMPUTE and not n.domain]
    included = matching(candidates, include, "--include") if include else {id(n) for n in candidates}
    excluded = matching(model.graph.nodes, exclude, "--exclude") if exclude else set()
    rows: list[QuantizedNode] = []
    findings: list[Finding] = in_subgraphs(model.graph)
    work = Dynamic(model, weights, per_channel, shapes)
    for node in candidates:
        if id(node) in excluded or id(node) not in included:
            findings.append(Finding("Q006", "note", node.name, "not selected"))
            continue
        layer = layer_of(node)
        if isinstance(layer, Finding):
            findings.append(layer)
            continue
        reason = _unfit(node, layer, asked=bool(include) or preset == "full")
        if reason:
            findings.append(
                Finding(
                    "Q003", "note", node.name, reason, "--include takes a Conv all the same; static mode has a fast one"
                )
            )
            continue
        rows.append(work.take(node, layer))
    work.writer.apply()
    prune(model.graph, work.replaced)
    halves = Writer(model.graph)
    count, saved = store_halves(model.graph, halves)
    halves.apply()
    if count:
        text = f"{counted(count, 'weight')} of float nodes stored as float16 and cast when the file is loaded: {saved / 1e6:.1f} MB less"
        findings.append(Finding("Q024", "note", "", text))
    return rows, findings


def _unfit(node: Node, layer: Layer, *, asked: bool) -> str | None:
    if node.op == "ConvTranspose":
        return "there is no integer ConvTranspose"
    if node.op == "Conv" and not asked:
        return "runtimes compute ConvInteger slower than a float Conv"
    if node.op == "Gemm" and node.attrs.get("transA", 0):
        return "its activation is transposed"
    if layer.weight.size < LEAST_ELEMENTS and not asked:
        return f"a weight of {layer.weight.size} elements saves nothing"
    return None


class Dynamic:
    """The rewriting of one model."""

    def __init__(self, model: Model, weights: str, per_channel: bool, shapes: Shapes) -> None:
        self.writer = Writer(model.graph)
        self.kind, self.per_channel, self.shapes = TYPES[weights], per_channel, shapes
        self.replaced: list[Node] = []
        self._read: dict[int, list[Variable]] = {}

    def take(self, node: Node, layer: Layer) -> QuantizedNode:
        """Write the integer form of `node` behind it, under its name; the old node is left without readers."""
        writer, name, output = self.writer, node.name, node.outputs[0]
        macs, intensity = work_of(node, self.shapes)
        weight, axis = layer.weight, layer.axis
        if node.op == "Gemm" and axis == 0:
            weight, axis = np.ascontiguousarray(weight.T), 1
        how = weight_params(weight, self.kind, axis if self.per_channel else None)
        integers = quantize(weight, how)
        x, x_scale, x_zero = self._dynamic(node)
        stored = [self._constant(node, "quantized", integers)]
        product = self._value(f"{name}_int32", np.int32)
        inputs: list[Any] = [x, *stored, x_zero]
        if how.zero_point.astype(np.int32).any():
            inputs.append(self._constant(node, "zero_point", how.zero_point))
        conv = node.op == "Conv"
        op = "ConvInteger" if conv else "MatMulInteger"
        nodes = [Node(op, name, dict(node.attrs) if conv else {}, inputs, [product])]
        plain = self._value(f"{name}_plain", np.float32)
        nodes.append(Node("Cast", writer.name(f"{name}_Cast"), {"to": 1}, [product], [plain]))
        both = self._value(f"{name}_scales", np.float32)
        shape = (1, -1, *(1,) * (weight.ndim - 2)) if conv else (-1,)
        factors = how.scale.reshape(shape) if how.scale.ndim else how.scale
        nodes.append(
            Node("Mul", writer.name(f"{name}_scale_Mul"), {}, [x_scale, self._constant(node, "scale", factors)], [both])
        )
        bias = self._bias(node, layer, shape)
        scaled = output if bias is None else self._value(f"{name}_scaled", np.float32)
        node.outputs[0] = self._value(f"{output.name}_unused", np.float32)
        nodes.append(Node("Mul", writer.name(f"{name}_Mul"), {}, [plain, both], [scaled]))
        if bias is not None:
            nodes.append(Node("Add", writer.name(f"{name}_Add"), {}, [scaled, bias], [output]))
        node.name = writer.name(f"{name}_replaced")
        writer.after[id(node)] += nodes
        self.replaced.append(node)
        return QuantizedNode(name, node.op, macs, intensity, weight.nbytes, self._exactness(weight, integers, how))

    def _bias(self, node: Node, layer: Layer, shape: tuple[int, ...]) -> Any:
        if layer.bias is not None:
            return self._constant(node, "bias", layer.bias.reshape(shape))
        if not layer.float_bias:
            return None
        beta = float(node.attrs.get("beta", 1.0)) if node.op == "Gemm" else 1.0
        tensor = node.inputs[2]
        if beta == 1.0:
            return tensor if node.op == "Gemm" else self._channels(node, tensor, shape)
        scaled = self._value(f"{node.name}_beta", np.float32)
        factor = self._constant(node, "beta", np.asarray(beta, np.float32))
        self.writer.before[id(node)].append(
            Node("Mul", self.writer.name(f"{node.name}_beta_Mul"), {}, [tensor, factor], [scaled])
        )
        return scaled

    def _channels(self, node: Node, tensor: Any, shape: tuple[int, ...]) -> Variable:
        """A computed Conv bias as [1, C, 1, …]."""
        out = self._value(f"{node.name}_bias_map", np.float32)
        wanted = self._constant(node, "bias_shape", np.asarray(shape, np.int64))
        self.writer.before[id(node)].append(
            Node("Reshape", self.writer.name(f"{node.name}_bias_Reshape"), {}, [tensor, wanted], [out])
        )
        return out

    def _dynamic(self, node: Node) -> list[Variable]:
        """(integers, scale, zero point) of what `node` reads; measured once for all its readers."""
        tensor = node.inputs[0]
        if id(tensor) not in self._read:
            made = [
                self._value(f"{tensor.name}_quantized", np.uint8), self._value(f"{tensor.name}_dynamic_scale", np.float32), self._value(f"{tensor.name}_dynamic_zero_point", np.uint8),
            ]  # fmt: skip
            self._read[id(tensor)] = made
            name = self.writer.name(f"{tensor.name}_DynamicQuantizeLinear")
            self.writer.before[id(node)].append(Node("DynamicQuantizeLinear", name, {}, [tensor], made))
        return self._read[id(tensor)]

    def _value(self, name: str, dtype: Any) -> Variable:
        return Variable(self.writer.name(name), np.dtype(dtype))

    def _constant(self, node: Node, name: str, values: Array) -> Constant:
        return self.writer.constant(f"{node.name}_{name}", values)

    @staticmethod
    def _exactness(weight: Array, integers: Array, how: Params) -> float:
        return sqnr_db(weight, dequantize(integers, how))
