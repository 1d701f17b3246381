"""`quantize`: a model in, a smaller one out, and a report of everything that was done and left."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np

from exec.errors import OptionError, nearest
from exec.ir import Constant, Model, walk
from exec.progress import Cancel, Progress
from exec.wording import counted
from quantize.advice import no_gain, nothing_chosen, tried
from quantize.choose import work_of
from quantize.cpu import cpu_findings
from quantize.dynamic import quantize_dynamic
from quantize.findings import Finding
from quantize.memory import give_back
from quantize.numerics import TYPES
from quantize.observers import METHODS
from quantize.observing import Runner
from quantize.placement import COMPUTE, PRESETS
from quantize.prepare import WIDE_OPSET, least_opset, prepared
from quantize.qoperator import to_qoperator
from quantize.quality import Judge, after_softmax
from quantize.ranges import Ranges, load_ranges, source_of
from quantize.repair import REPAIRS, equalize, smooth
from quantize.report import OutputQuality, QuantizedNode, QuantizedTensor, QuantizeReport, QuantizeResult, SearchPoint
from quantize.samples import Samples, samples_of
from quantize.search import Search, target_of
from quantize.selection import Selector
from quantize.static import Measured, Options, build, measure
from quantize.timing import timing
from quantize.weight_only import compress

JUDGED = 4
STORED_BITS = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2}
MODES = ("static", "dynamic", "weight-only")
FORMATS = ("qdq", "qoperator")
MOST_BLOCK = 1 << 16
"""Elements that share a scale."""
ACTIVATIONS = ("u8", "s8", "u16", "s16", "f8")
WEIGHTS = {"static": ("s8", "u8", "f8"), "dynamic": ("s8", "u8"), "weight-only": ("s8", "u8", "s4", "u4", "f8")}
LOST_DB = 20.0
LOST_PART_DB = 10.0
INTEGER_OPS = frozenset((
    "DequantizeLinear", "ConvInteger", "MatMulInteger", "MatMulIntegerToFloat", "MatMulInteger16", "QGemm", "QAttention", "QEmbedLayerNormalization",
    "MatMulNBits", "MatMulBnb4", "GatherBlockQuantized",
))  # fmt: skip
"""Beside all whose names begin with QLinear or DynamicQuantize."""


@dataclass
class Work:
    """What a mode hands back.

    kept       samples to judge by
    macs       multiply-adds of all products
    optimized  the float model it was made of; of static quantization, with what its samples said
    """

    model: Model
    data: str
    samples: int
    kept: Sequence[Any]
    nodes: Sequence[QuantizedNode]
    tensors: Sequence[QuantizedTensor]
    findings: list[Finding]
    optimized_bytes: int
    macs: int = 0
    search: tuple[SearchPoint, ...] = ()
    optimized: Model | None = None
    measured: Measured | None = None
    calibration: Samples | None = None


def quantize(
    model: Model,
    mode: str = "static",
    data: Any = None,
    *,
    activations: str = "u8",
    weights: str = "s8",
    per_channel: bool = True,
    block_size: int | None = None,
    method: str = "auto",
    format: str = "qdq",
    include: Sequence[Selector] = (),
    exclude: Sequence[Selector] = (),
    preset: str = "balanced",
    ranges: Ranges = None,
    target: Any = None,
    repairs: Sequence[str] = (),
    opset: int | None = None,
    feeds: Any = None,
    timed: bool = False,
    budget: Any = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> QuantizeResult:
    """Quantize `model`; the argument is never changed. The float model is optimized first, so that what is fused is measured fused.

    mode      "static": ranges measured on `data`; "dynamic": ranges of activations measured in every run; "weight-only": float activations
    weights   "s8" and "u8"; "s4" and "u4" for weight-only, in blocks; "f8" (float8 e4m3) with activations "f8", or weight-only
    block_size  weight-only: elements of a row that share a scale (32 with 4 bits)
    format    "qdq", or "qoperator": integer operators (weight-only: com.microsoft MatMulNBits)
    data      samples: a path, a list of dicts, a callable, a number of generated ones (see `quantize.samples`)
    method    how a range is chosen: "auto" by what the next activation makes of it, "minmax", "moving-average", "percentile", "entropy", "mse"
    preset    which nodes are worth 8 bits: "balanced", "fast" (more of them), "full" (all that can be)
    include, exclude   nodes by name, operator, pattern or scope; a selector that matches nothing is an error
    ranges    {tensor: (low, high)} given instead of measured, or the path of a calibration that was saved
    repairs   "equalize", "smooth", "bias" (see `quantize.repair`); a search equalizes by itself where channels differ wildly
    target    dB, a metric of the model, or `quantize.search.Target`: the mix of float and 8 bits is searched
    feeds     samples to judge the result by; the first calibration samples otherwise
    timed     measure time before and after, per node, in onnxruntime where it is installed
    """
    began = perf_counter()
    _known("mode", mode, MODES)
    _known("format", format, FORMATS)
    _known("activations", activations, ACTIVATIONS)
    _known("weights", weights, WEIGHTS[mode])
    _known("method", method, METHODS)
    _known("preset", preset, PRESETS)
    if block_size is not None and not 2 <= block_size <= MOST_BLOCK:
        raise OptionError(
            f"a block of {block_size} elements", why=f"2 to {MOST_BLOCK:,} share a scale", hint="32 and 128 are usual"
        )
    if format == "qoperator" and mode == "static" and (TYPES[activations].bits > 8 or TYPES[activations].is_float):
        raise OptionError(f"QOperator has no activations in {activations}", hint="format='qdq'")
    if mode == "static" and TYPES[activations].is_float != TYPES[weights].is_float:
        raise OptionError(
            f"activations in {activations} with weights in {weights}", hint="float8 (f8) for both, or for none"
        )
    if opset is not None and opset < (least := least_opset(activations, weights, block_size)):
        raise OptionError(
            f"opset {opset} is too low",
            why=f"what is written needs {least}",
            hint=f"opset {least} or higher, or none given",
        )
    options = Options(
        activations, weights, per_channel, method, "gptq", preset, tuple(include), tuple(exclude), load_ranges(ranges), repairs=tuple(repairs)
    )  # fmt: skip
    for repair in repairs:
        _known("repair", repair, REPAIRS)
    findings = already_quantized(model)
    if target is not None and mode != "static":
        raise OptionError(f"a target for mode {mode!r}", hint="only static quantization is searched")
    if options.ranges and data is None:
        options = replace(
            options, rounding="nearest"
        )  # weights rounded by made-up inputs would not go with these ranges
    if mode == "static":
        work = _static(model, data, options, source_of(ranges), format, target, opset, findings, progress, cancel)
    else:
        work = _of_weights(model, data, options, mode, format, block_size, opset, findings, progress, cancel)
    if not work.nodes:
        hint = "--preset full takes every one that can be"
        without = Finding("Q050", "warning", "", "no node was worth or fit for 8 bits", hint)
        findings.append(without if work.measured is None else nothing_chosen(work.measured))
        trial = tried(work.measured, work.calibration) if timed and work.measured and work.calibration else None
        findings += [trial] if trial is not None else []
    judged_by = [feeds] if isinstance(feeds, Mapping) else work.kept if feeds is None else list(feeds)
    outputs = Judge.of(model, judged_by).outputs(work.model, cancel=cancel)
    findings += lost(model, outputs, mode)
    times = None
    if timed and work.nodes and work.kept:
        times = timing(model, work.optimized or model, work.model, work.kept[0])
        slow = no_gain(times, work.optimized_bytes, weight_bytes(work.model))
        findings += [slow] if slow is not None else []
    macs = sum(n.macs for n in work.nodes)
    report = QuantizeReport(
        mode, format, activations, weights, per_channel, method, preset, work.data, work.samples, (model.opset, work.model.opset),
        tuple(work.nodes), tuple(work.tensors), outputs, tuple(findings), weight_bytes(model), work.optimized_bytes, weight_bytes(work.model),
        _count(work.model, "QuantizeLinear"), _count(work.model, "DequantizeLinear"), macs, work.macs, perf_counter() - began, work.search, times,
    )  # fmt: skip
    return QuantizeResult(work.model, report)


_LESS = {
    "static": "leave nodes out with --exclude, or calibrate with other data",
    "dynamic": "leave nodes out with --exclude, or --mode static, which knows the ranges",
    "weight-only": "leave nodes out with --exclude, or more bits: --weights s8",
}


def lost(model: Model, outputs: Sequence[OutputQuality], mode: str) -> list[Finding]:
    """Outputs that keep little of their signal, or a part of which does: boxes in pixels hide what is left of scores."""
    found = []
    shares = {o.name for o in model.graph.outputs if after_softmax(o)}
    for o in outputs:
        if o.sqnr_db < LOST_DB:
            found.append(Finding("Q040", "warning", o.name, f"{o.sqnr_db:.1f} dB against the original", _LESS[mode]))
        elif o.slices_db and min(o.slices_db) < LOST_PART_DB and o.name not in shares:
            worst = o.slices_db.index(min(o.slices_db))
            text = f"part {worst} of {len(o.slices_db)} keeps {o.slices_db[worst]:.1f} dB, the whole {o.sqnr_db:.1f} dB"
            hint = "leave the node that makes it out with --exclude, or --activations u16"
            found.append(Finding("Q043", "warning", o.name, text, hint))
    return found


def _static(
    model: Model, data: Any, options: Options, given: str, format: str, target: Any, opset: int | None, findings: list[Finding], progress: Progress | None, cancel: Cancel | None
) -> Work:  # fmt: skip
    began = perf_counter()
    goal = None if target is None else target_of(target)
    float_model = prepared(model, opset, options, findings, progress, cancel)
    samples = samples_of(float_model, data)
    keep = JUDGED if goal is None else 3 * JUDGED
    if goal is not None:
        options = replace(options, recurrent=False)  # a search mixes what QDQ can say
    measured = _measured(float_model, samples, options, goal is not None, keep, findings, progress, cancel)
    are_measured = [s.samples > 0 for s in measured.spans.values()]
    findings += samples.remarks(calibrated=any(are_measured) or not are_measured)
    kept = measured.calibration.kept
    points: tuple[SearchPoint, ...] = ()
    if goal is None:
        built = build(measured)
    else:
        # the last of the kept samples are not searched with: the report judges by them
        judge = Judge.of(float_model, kept[:JUDGED], logits=True, at_once=True)
        held = Judge.of(float_model, kept[JUDGED:], logits=True, at_once=True) if len(kept) > JUDGED else None
        found = Search(measured, judge, goal, held, progress, cancel, began).run()
        built, points, kept = found.built, found.points, kept[JUDGED:] or kept
        if not found.reached:
            hint = "a lower target, other data, or a repair; the best mix found is kept"
            findings.append(
                Finding(
                    "Q041",
                    "warning",
                    "",
                    f"the best of {len(points)} mixes has {max(p.db for p in points):.1f} dB",
                    hint,
                )
            )
        if found.stopped:
            findings.append(Finding("Q042", "note", "", f"{found.stopped}, {len(points)} mixes were tried"))
    measured.products.clear()
    measured.rounded.clear()
    give_back()  # judging comes next, and has weights of its own
    taken = {n.name for n in built.nodes}
    findings += [f for f in measured.findings if f.code != "Q071" or f.node not in taken]
    findings += [*built.findings, *cpu_findings(options.activations, options.weights)]
    if format == "qoperator":
        findings += to_qoperator(built.model.graph)
    return Work(
        built.model,
        _source(given, samples.source, are_measured),
        measured.calibration.samples,
        kept,
        built.nodes,
        built.tensors,
        findings,
        weight_bytes(float_model),
        measured.chosen.macs,
        points,
        float_model,
        measured,
        samples,
    )


def _source(given: str, samples: str, are_measured: Sequence[bool]) -> str:
    """Where the ranges are from."""
    if not given:
        return samples
    if not any(are_measured):
        return f"{given}; judged on {samples}"
    return f"{given}, {sum(are_measured)} more measured on {samples}"


def _measured(
    model: Model, samples: Samples, options: Options, searching: bool, keep: int, findings: list[Finding], progress: Progress | None, cancel: Cancel | None
) -> Measured:  # fmt: skip
    """Calibrate, after the repairs that change the float model (`model`, in place)."""

    def again() -> Measured:
        return measure(model, samples, options, every=searching, keep=keep, progress=progress, cancel=cancel)

    repairs = options.repairs
    if "equalize" in repairs:
        findings += equalize(model)
    measured = again()
    if searching and "equalize" not in repairs and any(f.code == "Q011" for f in measured.findings):
        moved = equalize(model)
        findings += moved
        measured = again() if moved else measured
    if "smooth" in repairs:
        moved = smooth(model, measured.reaches, [c.node.name for c in measured.chosen.taken])
        findings += moved
        measured = again() if moved else measured
    return measured


def _of_weights(
    model: Model, data: Any, options: Options, mode: str, format: str, block_size: int | None, opset: int | None, findings: list[Finding],
    progress: Progress | None, cancel: Cancel | None,
) -> Work:  # fmt: skip
    """Dynamic and weight-only: samples only judge the result."""
    packed = format == "qoperator"
    blocked = mode == "weight-only" and (block_size is not None or TYPES[options.weights].bits < 8)
    work = prepared(model, opset, options, findings, progress, cancel, least=WIDE_OPSET if blocked else 0)
    before = weight_bytes(work)
    samples = samples_of(work, min(data or JUDGED, JUDGED) if data is None or isinstance(data, int) else data)
    findings += samples.remarks(calibrated=False)
    shapes = Runner(work, samples).shapes()
    macs = sum(work_of(n, shapes)[0] for n in work.graph.nodes if n.op in COMPUTE and not n.domain)
    if mode == "dynamic":
        nodes, remarks = quantize_dynamic(
            work, options.weights, shapes=shapes, per_channel=options.per_channel, include=tuple(options.include), exclude=tuple(options.exclude), preset=options.preset
        )  # fmt: skip
    else:
        nodes, remarks = compress(
            work, options.weights, per_channel=options.per_channel, block_size=block_size, include=tuple(options.include), exclude=tuple(options.exclude), packed=packed
        )  # fmt: skip
    findings += remarks
    kept = list(islice(samples, JUDGED))
    return Work(work, samples.source, len(kept), kept, nodes, (), findings, before, macs)


def already_quantized(model: Model) -> list[Finding]:
    """A finding when the model computes on integers already."""
    count = sum(
        n.op in INTEGER_OPS or n.op.startswith(("QLinear", "DynamicQuantize"))
        for graph in walk(model.graph) for n in graph.nodes
    )  # fmt: skip
    text = f"{counted(count, 'node')} of the model {'computes' if count == 1 else 'compute'} on integers already"
    return [Finding("Q002", "warning", "", text, "quantize the float original instead")] if count else []


def _known(option: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise OptionError(f"no {option} {value!r}", why=f"there are {', '.join(known)}", hint=nearest(value, known))


def weight_bytes(model: Model) -> int:
    """Bytes of all constants in a file, each once, those in subgraphs too."""
    found: dict[int, int] = {}
    for graph in walk(model.graph):
        for node in graph.nodes:
            for tensor in (*node.inputs, *node.attrs.values()):
                if isinstance(tensor, Constant):
                    bits = STORED_BITS.get(str(tensor.dtype), 8 * np.dtype(tensor.dtype).itemsize)
                    found[id(tensor)] = -(-math.prod(tensor.shape) * bits // 8)
    return sum(found.values())


def _count(model: Model, op: str) -> int:
    return sum(n.op == op for n in model.graph.nodes)
