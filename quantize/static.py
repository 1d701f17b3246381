"""Static quantization: choose nodes by what they gain, measure ranges, write integers, judge the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.cost import cost_of
from exec.ir import Constant, Model, Node, Variable, toposort
from exec.metrics import sqnr_db
from exec.progress import Cancel, Progress
from exec.trace import Spec
from quantize.activations import curve_after
from quantize.calibrate import Calibration, Watcher, calibrate
from quantize.findings import Finding
from quantize.gptq import Products, rounded
from quantize.numerics import TYPES, Params, dequantize, params, quantize, weight_params
from quantize.observers import Observer, observer
from quantize.placement import CLAMPS, COMPUTE, FIXED_RANGES, LEAST_INTENSITY, PASS_THROUGH, READER_FLOORS
from quantize.qdq import Writer
from quantize.report import QuantizedNode, QuantizedTensor
from quantize.samples import Samples
from quantize.selection import matching
from quantize.weights import Layer, integer_bias, integer_weight, layer_of


@dataclass(frozen=True, slots=True)
class Options:
    """How to quantize; names as in `quantize`."""

    activations: str = "u8"
    weights: str = "s8"
    per_channel: bool = True
    method: str = "auto"
    rounding: str = "gptq"
    preset: str = "balanced"
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass
class Choice:
    """A node that gets 8 bits: what it reads, and the value after it that is quantized too."""

    node: Node
    layer: Layer
    macs: int
    intensity: float
    source: Variable
    made: Variable | None


@dataclass
class Outcome:
    """What was done to the model."""

    nodes: list[QuantizedNode]
    tensors: list[QuantizedTensor]
    findings: list[Finding]
    macs_int8: int
    macs_total: int
    calibration: Calibration


def quantize_static(
    model: Model, samples: Samples, options: Options, *, progress: Progress | None = None, cancel: Cancel | None = None
) -> Outcome:  # fmt: skip
    """Quantize `model` in place: it is the caller's copy, optimized, with named nodes."""
    toposort(model.graph)
    shapes = calibrate(model, samples, {}, keep=0, most=1, cancel=cancel).shapes
    for constant in (t for n in model.graph.nodes for t in n.inputs if isinstance(t, Constant)):
        shapes.setdefault(constant.name, tuple(constant.shape))
    chosen, findings, total = choose(model, shapes, options)
    groups = shared_scales(chosen)
    tensors = values_of(chosen, groups)
    outputs = {id(t) for t in model.graph.outputs}
    levels = (1 << TYPES[options.activations].bits) - 1
    observers = {
        n: observer(options.method, curve_after(t, outputs), levels)
        for n, t in tensors.items()
        if n not in options.ranges
    }
    products = {
        c.source.name: Products(1 if c.node.op == "Conv" else -1)
        for c in chosen
        if options.rounding == "gptq" and is_product(c)
    }
    watchers: dict[str, list[Watcher]] = {}
    for group in (observers, products):
        for name, watcher in group.items():
            watchers.setdefault(name, []).append(watcher)
    seen = calibrate(model, samples, watchers, progress=progress, cancel=cancel)
    ranges = {
        name: activation_params(name, tensor, observers, options, outputs, findings) for name, tensor in tensors.items()
    }
    writer = Writing(model, options, groups, ranges, products, findings)
    writer.write(chosen)
    rows = [
        QuantizedTensor(n, *_span(n, observers, options), float(p.scale), int(p.zero_point), _count(n, observers))
        for n, p in ranges.items()
    ]
    nodes = [_row(c, options) for c in chosen]
    return Outcome(nodes, rows, findings, sum(c.macs for c in chosen), total, seen)


def values_of(chosen: Sequence[Choice], groups: Mapping[str, str]) -> dict[str, Variable]:
    """The values that get a scale of their own, by name; those behind moving operators have that of their source."""
    found: dict[str, Variable] = {}
    for choice in chosen:
        for tensor in (choice.source, choice.made):
            if tensor is not None and tensor.name not in groups:
                found.setdefault(tensor.name, tensor)
    return found


def is_product(choice: Choice) -> bool:
    """Whether the node is a matrix product in disguise: MatMul, Gemm, or a 1×1 convolution of one group."""
    node = choice.node
    if node.op == "Conv":
        return int(node.attrs.get("group", 1)) == 1 and _size(choice.layer.weight.shape[2:]) == 1
    return (node.op == "MatMul" and choice.layer.weight.ndim == 2) or (
        node.op == "Gemm" and not node.attrs.get("transA", 0)
    )


def _count(name: str, observers: Mapping[str, Observer]) -> int:
    return observers[name].seen.samples if name in observers else 0


def _span(name: str, observers: Mapping[str, Observer], options: Options) -> tuple[float, float]:
    return options.ranges[name] if name in options.ranges else observers[name].range()


def choose(
    model: Model, shapes: Mapping[str, tuple[int, ...]], options: Options
) -> tuple[list[Choice], list[Finding], int]:
    """The nodes that gain, with a finding for each that could have and does not; the model's multiply-adds."""
    graph = model.graph
    candidates = [n for n in graph.nodes if n.op in COMPUTE and not n.domain]
    included = matching(candidates, options.include, "--include") if options.include else {id(n) for n in candidates}
    excluded = matching(candidates, options.exclude, "--exclude") if options.exclude else set()
    outputs = {id(t) for t in graph.outputs}
    chosen, findings, total = [], [], 0
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
        reason = None if options.include else too_little(node, layer, intensity, shapes, options.preset)
        if reason:
            findings.append(
                Finding("Q003", "note", node.name, reason, "--preset full or --include takes it all the same")
            )
            continue
        chosen.append(Choice(node, layer, macs, intensity, node.inputs[0], _made(node, outputs)))
    return chosen, findings, total


def work_of(node: Node, shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, float]:
    """(multiply-adds, multiply-adds per element of the activation read and written) at the shapes of the first sample."""

    def spec(tensor: Any) -> Spec | None:
        return Spec(shapes[tensor.name], np.dtype(np.float32)) if tensor.name in shapes else None

    found = cost_of(
        node.op, node.attrs, [spec(t) for t in node.inputs], [spec(t) for t in node.outputs], domain=node.domain or ""
    )
    if found is None:
        return 0, 0.0
    moved = sum(_size(shapes.get(t.name)) for t in (node.inputs[0], node.outputs[0]))
    return found.macs, found.macs / max(moved, 1)


def _size(shape: tuple[int, ...] | None) -> int:
    count = 1
    for dim in shape or ():
        count *= dim
    return count


def too_little(
    node: Node, layer: Layer, intensity: float, shapes: Mapping[str, tuple[int, ...]], preset: str
) -> str | None:
    """Why 8 bits would not pay on this node, or None."""
    if preset == "full":
        return None
    if node.op == "ConvTranspose":
        return "runtimes have no integer ConvTranspose: it would only add conversions"
    if node.op == "Conv":
        if int(node.attrs.get("group", 1)) > 1 and layer.weight.shape[1] == 1:
            return "depthwise: it moves data, 8-bit products save nothing and cost the most accuracy"
        if layer.weight.shape[1] <= 4:
            return f"a stem of {layer.weight.shape[1]} input channels: little work, and its noise reaches everything"
        out = shapes.get(node.outputs[0].name, ())
        if out and _size(out[2:]) == 1:
            return "a 1×1 map (squeeze-and-excite): no work to save"
    least = LEAST_INTENSITY[preset]
    return (
        f"{intensity:.0f} multiply-adds per element moved, {least:.0f} are needed to pay" if intensity < least else None
    )


def _made(node: Node, outputs: set[int]) -> Variable | None:
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


def shared_scales(chosen: Sequence[Choice]) -> dict[str, str]:
    """name of a value behind operators that only move → name of the quantized value before them, whose scale it shares."""
    quantized = {id(c.made) for c in chosen if c.made is not None}
    found: dict[str, str] = {}
    for choice in chosen:
        chain: list[Any] = []
        tensor = choice.source
        while (
            id(tensor) not in quantized
            and tensor.inputs
            and tensor.inputs[0].op in PASS_THROUGH
            and not tensor.inputs[0].domain
        ):
            chain.append(tensor)
            tensor = tensor.inputs[0].inputs[0]
        if chain and id(tensor) in quantized:
            found.update({t.name: tensor.name for t in chain})
    return found


def activation_params(
    name: str, tensor: Variable, observers: Mapping[str, Observer], options: Options, outputs: set[int], findings: list[Finding]
) -> Params:  # fmt: skip
    """Scale and zero point of one activation, from its given, fixed or calibrated range."""
    kind = TYPES[options.activations]
    if name in options.ranges:
        low, high = options.ranges[name]
    else:
        watcher = observers[name]
        low, high = watcher.range()
        if not watcher.seen.elements:
            findings.append(
                Finding("Q013", "warning", name, "no sample made this value", "calibrate with inputs that reach it")
            )
        elif low == high == 0.0:
            findings.append(
                Finding(
                    "Q010", "note", name, "it was 0 in every sample: scale 1", "calibrate with inputs that reach it"
                )
            )
        if watcher.seen.sentinels:
            text = f"{watcher.seen.sentinels:,} infinite or mask values were left out of the range"
            findings.append(Finding("Q012", "note", name, text))
    if tensor.inputs and tensor.inputs[0].op in FIXED_RANGES and not tensor.inputs[0].domain:
        low, high = FIXED_RANGES[tensor.inputs[0].op]
    floors = {READER_FLOORS.get(n.op, -np.inf) for n in tensor.outputs}
    if id(tensor) not in outputs and len(floors) == 1:
        low = max(low, floors.pop())
    return params(low, high, kind, symmetric=False)


class Writing:
    """Puts weights, biases and activations into the graph as integers."""

    def __init__(
        self, model: Model, options: Options, groups: Mapping[str, str], ranges: Mapping[str, Params], products: Mapping[str, Products], findings: list[Finding]
    ) -> None:  # fmt: skip
        self.writer, self.options, self.groups, self.ranges = Writer(model.graph), options, groups, ranges
        self.products, self.findings = products, findings
        self.kind = TYPES[options.weights]
        self.axes: dict[int, set[int]] = {}

    def params(self, tensor: Variable) -> Params:
        """The scale a value is read with: its own, or its source's."""
        return self.ranges[self.groups.get(tensor.name, tensor.name)]

    def write(self, chosen: Sequence[Choice]) -> None:
        """All of it, in one pass over the nodes."""
        for choice in chosen:
            self._constants(choice)
        made = {c.made.name: c.made for c in chosen if c.made is not None}
        made.update({t.name: t for t in _moved(chosen, self.groups)})
        for tensor in made.values():
            self.writer.made(tensor.inputs[0], tensor, self.params(tensor))
        for choice in chosen:
            if choice.source.name not in made:
                self.writer.read(choice.node, 0, self.params(choice.source))
        self.writer.apply()

    def _constants(self, choice: Choice) -> None:
        node, layer, rule = choice.node, choice.layer, COMPUTE[choice.node.op]
        how = self.params(choice.source)
        original = node.inputs[rule.weight]
        integers, scales, remarks = integer_weight(node, layer, self.kind, how, self.options.per_channel)
        self.findings += remarks
        integers = self._cancelled(choice, integers, scales)
        self.writer.weight(node, rule.weight, integers, scales, layer.axis)
        self.axes.setdefault(id(original), set()).add(layer.axis)
        if len(self.axes[id(original)]) > 1:
            self.findings.append(Finding("Q022", "note", node.name, f"{original.name} is also read along another axis"))
        if layer.bias is not None and rule.bias is not None and self.options.activations in ("u8", "s8"):
            bias, grid = integer_bias(layer.bias, how, scales)
            self.writer.weight(node, rule.bias, bias, grid, 0)
        elif layer.float_bias:
            self.findings.append(Finding("Q020", "note", node.name, "its bias is not one constant a channel"))
        if layer.scaled:
            for key in ("alpha", *(() if layer.float_bias else ("beta",))):
                node.attrs.pop(key, None)
            self.findings.append(Finding("Q023", "note", node.name, "alpha and beta are part of the weights now"))

    def _cancelled(self, choice: Choice, integers: Array, scales: Params) -> Array:
        """The integers rounded so that their errors cancel, where the layer is a product and its inputs were watched."""
        watched = self.products.get(choice.source.name)
        if watched is None or watched.total is None or not is_product(choice):
            return integers
        weight = choice.layer.weight
        turned = np.moveaxis(weight, choice.layer.axis, 0)
        better = rounded(turned.reshape(len(turned), -1), scales, watched.total)
        return (
            integers
            if better is None
            else np.ascontiguousarray(np.moveaxis(better.reshape(turned.shape), 0, choice.layer.axis))
        )


def _moved(chosen: Sequence[Choice], groups: Mapping[str, str]) -> list[Variable]:
    """The values behind moving operators that share a scale, each once."""
    found: dict[int, Variable] = {}
    for choice in chosen:
        tensor: Any = choice.source
        while tensor.name in groups:
            found.setdefault(id(tensor), tensor)
            tensor = tensor.inputs[0].inputs[0]
    return list(found.values())


def _row(choice: Choice, options: Options) -> QuantizedNode:
    layer = choice.layer
    how = weight_params(layer.weight, TYPES[options.weights], layer.axis if options.per_channel else None)
    noise = sqnr_db(layer.weight, dequantize(quantize(layer.weight, how), how))
    return QuantizedNode(choice.node.name, choice.node.op, choice.macs, choice.intensity, layer.weight.nbytes, noise)
