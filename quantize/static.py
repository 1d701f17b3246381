"""Static quantization: choose nodes by what they gain, measure ranges, write integers, judge the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from exec.cost import cost_of
from exec.ir import Constant, Model, Node, Variable, toposort
from exec.progress import Cancel, Progress
from quantize.calibrate import Calibration, calibrate
from quantize.findings import Finding
from quantize.numerics import TYPES, Params, dequantize, params
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
    method: str = "minmax"
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
    first = Samples(samples.source, lambda: (s for s, _ in zip(samples, range(1), strict=False)), 1)
    shapes = calibrate(model, first, (), "minmax", keep=0, cancel=cancel).shapes
    for constant in (t for n in model.graph.nodes for t in n.inputs if isinstance(t, Constant)):
        shapes.setdefault(constant.name, tuple(constant.shape))
    chosen, findings, total = choose(model, shapes, options)
    tensors = {c.source.name: c.source for c in chosen}
    tensors.update({c.made.name: c.made for c in chosen if c.made is not None})
    groups = shared_scales(chosen)
    wanted = {*tensors, *groups.values()} - {*options.ranges}
    seen = calibrate(model, samples, wanted, options.method, progress=progress, cancel=cancel)
    ranges = {name: ranges_of(model, name, seen, options, findings) for name in {*tensors, *groups.values()}}
    write(model, chosen, groups, ranges, options, findings)
    rows = [
        QuantizedTensor(n, *_span(n, seen, options), float(p.scale), int(p.zero_point), _count(n, seen))
        for n, p in ranges.items()
    ]
    nodes = [_row(c, options) for c in chosen]
    return Outcome(nodes, rows, findings, sum(c.macs for c in chosen), total, seen)


def _count(name: str, seen: Calibration) -> int:
    return seen.observers[name].seen.samples if name in seen.observers else 0


def _span(name: str, seen: Calibration, options: Options) -> tuple[float, float]:
    return options.ranges[name] if name in options.ranges else seen.observers[name].range()


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
    from exec.trace import Spec

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


def ranges_of(model: Model, name: str, seen: Calibration, options: Options, findings: list[Finding]) -> Params:
    """Scale and zero point of one activation, from its calibrated, fixed or given range."""
    kind = TYPES[options.activations]
    tensor = next((t for n in model.graph.nodes for t in (*n.inputs, *n.outputs) if t.name == name), None)
    if name in options.ranges:
        low, high = options.ranges[name]
    else:
        watcher = seen.observers[name]
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
    if tensor is not None and tensor.inputs:
        maker = tensor.inputs[0]
        if maker.op in FIXED_RANGES and not maker.domain:
            low, high = FIXED_RANGES[maker.op]
        floors = {READER_FLOORS.get(n.op) for n in tensor.outputs}
        if len(floors) == 1 and None not in floors and not any(t is tensor for t in model.graph.outputs):
            low = max(low, floors.pop() or 0.0)
    return params(low, high, kind, symmetric=False)


def write(
    model: Model, chosen: Sequence[Choice], groups: Mapping[str, str], ranges: Mapping[str, Params], options: Options, findings: list[Finding]
) -> None:  # fmt: skip
    """Put weights, biases and activations into the graph as integers."""
    writer = Writer(model.graph)
    made = {c.made.name: c.made for c in chosen if c.made is not None}
    kind = TYPES[options.weights]
    axes: dict[int, set[int]] = {}
    reads: list[tuple[Node, Params]] = []
    for choice in chosen:
        node, layer = choice.node, choice.layer
        rule = COMPUTE[node.op]
        how = ranges[groups.get(choice.source.name, choice.source.name)]
        original = node.inputs[rule.weight]
        axes.setdefault(id(original), set()).add(layer.axis)
        integers, scales, remarks = integer_weight(node, layer, kind, how, options.per_channel)
        findings += remarks
        writer.weight(node, rule.weight, integers, scales, layer.axis)
        if len(axes[id(original)]) > 1:
            findings.append(Finding("Q022", "note", node.name, f"{original.name} is also read along another axis"))
        if layer.bias is not None and rule.bias is not None and options.activations in ("u8", "s8"):
            bias, grid = integer_bias(layer.bias, how, scales)
            writer.weight(node, rule.bias, bias, grid, 0)
        elif layer.float_bias:
            findings.append(Finding("Q020", "note", node.name, "its bias is not one constant a channel"))
        if layer.scaled:
            for key in ("alpha", *(() if layer.float_bias else ("beta",))):
                node.attrs.pop(key, None)
            findings.append(Finding("Q023", "note", node.name, "alpha and beta are part of the weights now"))
        reads.append((node, how))
    for tensor in made.values():
        writer.made(tensor.inputs[0], tensor, ranges[tensor.name])
    moved = [t for t in _moved(chosen, groups) if t.name not in made]
    for tensor in moved:
        writer.made(tensor.inputs[0], tensor, ranges[groups[tensor.name]])
    done = {id(t) for t in (*made.values(), *moved)}
    for node, how in reads:
        if id(node.inputs[0]) not in done:
            writer.read(node, 0, how)
    writer.apply()


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
    from exec.metrics import sqnr_db
    from quantize.numerics import quantize, weight_params

    layer = choice.layer
    how = weight_params(layer.weight, TYPES[options.weights], layer.axis if options.per_channel else None)
    noise = sqnr_db(layer.weight, dequantize(quantize(layer.weight, how), how))
    return QuantizedNode(choice.node.name, choice.node.op, choice.macs, choice.intensity, layer.weight.nbytes, noise)
