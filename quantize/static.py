"""Static quantization: choose nodes by what they gain, measure ranges once, write integers for any subset of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from exec.arrays import Array
from exec.errors import OptionError, nearest
from exec.ir import Constant, Model, Variable, prune, toposort
from exec.progress import Cancel, Progress
from exec.wording import counted
from quantize.activations import curve_after
from quantize.channels import Mean, Reach, outlier, uneven
from quantize.choose import Choice, Chosen, choose, made_by
from quantize.filling import filled
from quantize.findings import Finding
from quantize.float8 import keep_clamps
from quantize.gptq import Products
from quantize.halves import store_halves
from quantize.memory import give_back
from quantize.numerics import TYPES
from quantize.observers import MinMax, Observer, observer
from quantize.observing import Calibration, Runner, Watcher
from quantize.placement import JOINED
from quantize.qdq import Writer
from quantize.recurrent import quantize_recurrent
from quantize.regions import Region, region_of
from quantize.report import QuantizedNode, QuantizedTensor
from quantize.samples import Samples
from quantize.selection import Selector, matching
from quantize.spans import Span, given, narrow, sentinels, span_of, without_empty
from quantize.unfold import unfold
from quantize.writing import Writing


@dataclass(frozen=True, slots=True)
class Options:
    """How to quantize; names as in `quantize`.

    rounding  "gptq", or "nearest"
    halves    store weights that stay float in 16 bits
    recurrent  write LSTMs as onnxruntime's own, in 8 bits
    repairs   of `repair.REPAIRS`; "bias" rounds to nearest: with both, the same error would be taken out twice
    """

    activations: str = "u8"
    weights: str = "s8"
    per_channel: bool = True
    method: str = "auto"
    rounding: str = "gptq"
    preset: str = "balanced"
    include: Sequence[Selector] = ()
    exclude: Sequence[Selector] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    halves: bool = True
    repairs: Sequence[str] = ()
    recurrent: bool = True


@dataclass
class Measured:
    """A float model and everything its samples said, enough to quantize any subset of its nodes.

    model     optimized, nodes named and sorted; not to be changed
    products  Σ x·xᵀ by value name
    rounded   integers of weights that were rounded with them, by node: shared between builds
    """

    model: Model
    options: Options
    chosen: Chosen
    shapes: dict[str, tuple[int, ...]]
    spans: dict[str, Span]
    products: dict[str, Products]
    reaches: dict[str, Array]
    means: dict[str, Array]
    findings: list[Finding]
    calibration: Calibration
    rounded: dict[Any, Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Built:
    """A quantized model and its rows for the report."""

    model: Model
    nodes: tuple[QuantizedNode, ...]
    tensors: tuple[QuantizedTensor, ...]
    findings: tuple[Finding, ...]


def measure(
    model: Model, samples: Samples, options: Options, *, every: bool = False, keep: int = 4, progress: Progress | None = None, cancel: Cancel | None = None
) -> Measured:  # fmt: skip
    """Choose nodes and run the samples once.

    model  the caller's own copy, optimized, with named nodes
    every  watch all nodes that can be quantized, not only those that pay: a search may take any of them
    keep   samples kept to judge by
    """
    toposort(model.graph)
    runner = Runner(model, samples)
    shapes = runner.shapes()
    unfolded: list[Finding] = []
    if options.preset != "full" and not options.include and TYPES[options.activations].bits == 8:
        kept = matching(model.graph.nodes, options.exclude, "--exclude") if options.exclude else set()
        unfolded = unfold(model.graph, shapes, kept)
    if unfolded:
        runner = Runner(model, samples)
        shapes = runner.shapes()
    _known_values(model, options.ranges)
    chosen = choose(model, shapes, options.include, options.exclude, options.preset)
    if options.preset == "balanced" and not options.include:
        chosen = filled(model.graph, chosen, shapes, JOINED[options.preset])
    watched = chosen.possible if every else chosen.taken
    region = region_of(model.graph, watched, JOINED[options.preset], chosen.left)
    tensors = dict(region.values)
    if every:  # alone, a node reads what is moved from a value that is float then
        tensors.update({c.source.name: c.source for c in watched})
        tensors.update({t.name: t for t in region.moved})
    outputs = {id(t) for t in model.graph.outputs}
    levels = (1 << TYPES[options.activations].bits) - 1
    observers = {
        n: observer(options.method, curve_after(t, outputs), levels)
        for n, t in tensors.items()
        if n not in options.ranges
    }
    products = {
        c.source.name: Products(1 if c.node.op == "Conv" else -1)
        for c in watched
        if options.rounding == "gptq" and "bias" not in options.repairs and c.is_product
    }
    means = {c.source.name: Mean(1 if c.node.op == "Conv" else -1) for c in watched if "bias" in options.repairs}
    reaches = {c.source.name: Reach(1 if c.node.op.startswith("Conv") else -1) for c in watched}
    parts = _parts(tensors.values())
    watchers: dict[str, list[Watcher]] = {}
    for group in (observers, products, reaches, means, parts):
        for name, watcher in group.items():
            watchers.setdefault(name, []).append(watcher)
    seen = runner.watch(watchers, keep=keep, progress=progress, cancel=cancel)
    del runner
    give_back()
    findings = [*unfolded, *chosen.findings]
    spans = {
        n: given(*options.ranges[n]) if n in options.ranges else span_of(t, observers[n], options.activations, outputs)
        for n, t in tensors.items()
    }
    chosen, empty = without_empty(
        model.graph, chosen, region, spans, JOINED[options.preset], options.activations, every=every
    )
    findings += empty
    remarks = [sentinels(n, w) for n, w in observers.items()]
    remarks += [narrow(n, w, options.activations) for n, w in observers.items()]
    remarks += [outlier(n, r) for n, r in reaches.items()]
    remarks += [uneven(n, {p: parts[p].range() for p in _concat_parts(t)}) for n, t in tensors.items()]
    findings += [f for f in remarks if f is not None]
    tops = {n: r.top for n, r in reaches.items() if r.top is not None}
    centres = {n: m.value for n, m in means.items() if m.value is not None}
    return Measured(model, options, chosen, shapes, spans, products, tops, centres, findings, seen)


def _known_values(model: Model, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Ranges given for values that do not exist are a typing error, or another model's."""
    if not ranges:
        return
    names = {t.name for n in model.graph.nodes for t in (*n.inputs, *n.outputs)}
    unknown = [n for n in ranges if n not in names]
    if unknown:
        why = f"{len(unknown)} of {len(ranges)} given ranges are of no value of the optimized model"
        raise OptionError(f"no value '{unknown[0]}' for its range", why=why, hint=nearest(unknown[0], sorted(names)))


def _concat_parts(tensor: Variable) -> list[str]:
    """Names of what a Concat puts together into `tensor`."""
    if not tensor.inputs or tensor.inputs[0].op != "Concat":
        return []
    return [t.name for t in tensor.inputs[0].inputs if not isinstance(t, Constant)]


def _parts(tensors: Collection[Variable]) -> dict[str, Observer]:
    return {name: MinMax() for tensor in tensors for name in _concat_parts(tensor)}


def build(measured: Measured, names: Collection[str] | None = None, *, halves: bool | None = None) -> Built:
    """The model with these nodes quantized (those that pay, without `names`); `measured` stays as it is."""
    options = measured.options
    model = measured.model.copy()
    wanted = (
        [c for c in measured.chosen.possible if c.node.name in names] if names is not None else measured.chosen.taken
    )
    chosen = copied(model, wanted)
    region = region_of(model.graph, chosen, JOINED[options.preset], measured.chosen.left)
    ranges = {n: measured.spans[n].params(options.activations) for n in region.values}
    findings: list[Finding] = []
    writing = Writing(model.graph, options.weights, options.per_channel, options.activations, region, ranges, findings)
    products = measured.products if options.rounding == "gptq" else {}
    writing.write(chosen, products, measured.rounded, measured.means)
    recurrent: list[QuantizedNode] = []
    if chosen and _takes_recurrent(options) and halves is None:
        recurrent = quantize_recurrent(model.graph, writing.writer, measured.shapes, measured.chosen.left, findings)
    if chosen and (options.halves if halves is None else halves):
        count, saved = store_halves(model.graph, writing.writer)
        if count:
            text = f"{counted(count, 'weight')} of float nodes stored as float16 and cast when the file is loaded: {saved / 1e6:.1f} MB less"
            findings.append(Finding("Q024", "note", "", text))
    writing.writer.apply()
    if TYPES[options.activations].is_float:
        clamps = Writer(model.graph)
        keep_clamps(model.graph, clamps)
        clamps.apply()
    prune(model.graph)
    rows = [measured.spans[n].row(n, options.activations) for n in ranges]
    nodes = [
        QuantizedNode(
            c.node.name, c.node.op, c.macs, c.intensity, c.layer.weight.nbytes, writing.weight_db[c.node.name]
        )
        for c in chosen
    ]
    return Built(model, (*nodes, *recurrent), tuple(rows), tuple(findings))


def _takes_recurrent(options: Options) -> bool:
    """With a selection, or other types than 8-bit integers, LSTMs were not meant."""
    kind = TYPES[options.activations]
    return options.recurrent and not options.include and kind.bits == 8 and not kind.is_float


def copied(model: Model, choices: Sequence[Choice]) -> list[Choice]:
    """The same choices on a copy of their model."""
    nodes = {n.name: n for n in model.graph.nodes}
    outputs = {id(t) for t in model.graph.outputs}
    return [
        replace(
            c, node=nodes[c.node.name], source=nodes[c.node.name].inputs[0], made=made_by(nodes[c.node.name], outputs)
        )
        for c in choices
    ]


__all__ = ["Built", "Measured", "Options", "Region", "Span", "build", "copied", "measure"]
