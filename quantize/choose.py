"""Which nodes get 8 bits: those whose products outweigh the data they move, with a finding for each that could and does not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exec.cost import cost_of
from exec.ir import Constant, Graph, Model, Node, Variable, walk
from exec.trace import Spec
from quantize.findings import Finding
from quantize.placement import CLAMPS, COMPUTE, EVEN_SHARE, LEAST_INTENSITY, LEAST_SHARE, LEAST_SPATIAL
from quantize.selection import Selector, matching
from quantize.weights import Layer, layer_of

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Choice:
    """A node that gets 8 bits: what it reads, and the value after it that is quantized too.

    intensity  multiply-adds per element of the activation read and written
    made       None where the integer kernel gives float, or the node's reader is better off with float
    """

    node: Node
    layer: Layer
    macs: int
    intensity: float
    source: Variable
    made: Variable | None

    @property
    def fillable(self) -> bool:
        """Whether it was left for its intensity alone, not for the little share of the work it has."""
        return self.intensity < least_of(self.node, self.layer, "balanced")

    @property
    def is_product(self) -> bool:
        """A matrix product, maybe in disguise: MatMul, Gemm, or a 1×1 convolution of one group."""
        node = self.node
        if node.op == "Conv":
            return int(node.attrs.get("group", 1)) == 1 and math.prod(self.layer.weight.shape[2:]) == 1
        return (node.op == "MatMul" and self.layer.weight.ndim == 2) or (
            node.op == "Gemm" and not node.attrs.get("transA", 0)
        )


@dataclass(frozen=True, slots=True)
class Chosen:
    """The choice for one model.

    possible  all that can be quantized, whether it pays or not, in the graph's order
    taken     those that pay (or were asked for)
    left      names of nodes that were excluded, those that only join 8-bit values too
    macs      multiply-adds of all products, quantized or not
    """

    possible: tuple[Choice, ...]
    taken: tuple[Choice, ...]
    findings: tuple[Finding, ...]
    macs: int
    left: frozenset[str] = frozenset()


def choose(
    model: Model, shapes: Shapes, include: Sequence[Selector], exclude: Sequence[Selector], preset: str
) -> Chosen:
    """Sort the nodes that compute products into those that gain and the others, each of which has a finding."""
    graph = model.graph
    candidates = [n for n in graph.nodes if n.op in COMPUTE and not n.domain]
    included = matching(candidates, include, "--include") if include else {id(n) for n in candidates}
    excluded = matching(graph.nodes, exclude, "--exclude") if exclude else set()
    outputs = {id(t) for t in graph.outputs}
    possible, taken, total = [], [], 0
    findings = [*in_subgraphs(graph), *without_kernel(graph)]
    for node in candidates:
        macs, intensity = work_of(node, shapes)
        total += macs
        if id(node) in excluded or id(node) not in included:
            findings.append(Finding("Q006", "note", node.name, "not selected"))
            continue
        layer = layer_of(node)
        if isinstance(layer, Finding):
            findings.append(layer)
            continue
        choice = Choice(node, layer, macs, intensity, node.inputs[0], made_by(node, outputs))
        possible.append(choice)
        reason = None if include or preset == "full" else too_little(choice, shapes, least_of(node, layer, preset))
        if reason:
            hint = "--preset full or --include takes it all the same"
            findings.append(Finding("Q003", "note", node.name, reason, hint))
        else:
            taken.append(choice)
    if preset == "balanced" and not include:
        taken, small = _by_share(taken, total)
        findings += small
    left = frozenset(n.name for n in graph.nodes if id(n) in excluded)
    total += sum(work_of(n, shapes)[0] for n in graph.nodes if n.op in OTHER_PRODUCTS)
    return Chosen(tuple(possible), tuple(taken), tuple(findings), total, left)


def _by_share(taken: list[Choice], total: int) -> tuple[list[Choice], list[Finding]]:
    """Without the nodes that do next to nothing of the model's work: each adds its noise and saves no time."""
    least = total * min(LEAST_SHARE, EVEN_SHARE / max(len(taken), 1) ** 2)
    hint = "--preset fast takes it all the same"
    small = [
        Finding("Q003", "note", c.node.name, f"{c.macs / total:.1%} of the model's multiply-adds", hint)
        for c in taken
        if c.macs < least
    ]
    return [c for c in taken if c.macs >= least], small


OTHER_PRODUCTS = frozenset(
    ("LSTM", "GRU", "RNN", "Einsum", "FusedMatMul", "FusedGemm", "FusedConv", "Attention", "DeformConv")
)
"""Operators that multiply with weights and have no integer form in QDQ graphs."""


def without_kernel(graph: Graph) -> list[Finding]:
    """Operators with weights that stay float whatever is asked for."""
    found = []
    for node in graph.nodes:
        if node.op in OTHER_PRODUCTS and any(isinstance(t, Constant) and t.dtype.kind == "f" for t in node.inputs):
            text = f"runtimes have no integer {node.op} between QuantizeLinear and DequantizeLinear"
            found.append(Finding("Q071", "note", node.name, text))
    return found


def in_subgraphs(graph: Graph) -> list[Finding]:
    """Products inside the bodies of If, Loop and Scan: their ranges are not seen from outside."""
    hint = "`owb optimize` inlines an If whose condition is known; --mode weight-only reaches into bodies"
    return [
        Finding("Q070", "note", node.name, f"this {node.op} is in the body of a control-flow node", hint)
        for inner in walk(graph)
        if inner is not graph
        for node in inner.nodes
        if node.op in COMPUTE and not node.domain
    ]


def work_of(node: Node, shapes: Shapes) -> tuple[int, float]:
    """(multiply-adds, multiply-adds per element of the activation read and written) at the shapes of the first sample."""

    def spec(tensor: Any) -> Spec | None:
        return Spec(shapes[tensor.name], np.dtype(np.float32)) if tensor.name in shapes else None

    found = cost_of(
        node.op, node.attrs, [spec(t) for t in node.inputs], [spec(t) for t in node.outputs], domain=node.domain or ""
    )
    if found is None:
        return 0, 0.0
    moved = sum(math.prod(shapes.get(t.name, ())) for t in (node.inputs[0], node.outputs[0]))
    return found.macs, found.macs / max(moved, 1)


def least_of(node: Node, layer: Layer, preset: str) -> float:
    """Multiply-adds per element moved that pay for the conversions around `node`."""
    wide = node.op == "Conv" and math.prod(layer.weight.shape[2:]) > 1
    return (LEAST_SPATIAL if wide else LEAST_INTENSITY)[preset]


def too_little(choice: Choice, shapes: Shapes, least: float) -> str | None:
    """Why 8 bits would not pay on this node, or None.

    least  multiply-adds per element moved
    """
    node, weight = choice.node, choice.layer.weight
    if node.op == "ConvTranspose":
        return "runtimes have no integer ConvTranspose: it would only add conversions"
    if node.op == "Conv":
        if int(node.attrs.get("group", 1)) > 1 and weight.shape[1] == 1:
            return "depthwise: it moves data, 8-bit products save nothing and cost the most accuracy"
        if weight.shape[1] <= 4:
            return f"a stem of {weight.shape[1]} input channels: little work, and its noise reaches everything"
        out = shapes.get(node.outputs[0].name, ())
        if out and math.prod(out[2:]) == 1:
            return "a 1×1 map (squeeze-and-excite): no work to save"
    if choice.intensity >= least:
        return None
    return f"{choice.intensity:.0f} multiply-adds per element moved, {least:.0f} are needed to pay"


def made_by(node: Node, outputs: set[int]) -> Variable | None:
    """The value after `node` that is quantized with it: behind a Relu or Clip that is its only reader."""
    if not COMPUTE[node.op].output:
        return None
    made: Variable = node.outputs[0]
    while (
        len(made.outputs) == 1
        and id(made) not in outputs
        and made.outputs[0].op in CLAMPS
        and made.outputs[0].inputs[0] is made
    ):
        made = made.outputs[0].outputs[0]
    return made
