"""`quantize`: a model in, a smaller one out, and a report of everything that was done and left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from exec.errors import OptionError, nearest
from exec.ir import Model
from exec.progress import Cancel, Progress
from quantize.findings import Finding
from quantize.numerics import TYPES
from quantize.observers import METHODS
from quantize.placement import PRESETS
from quantize.quality import Judge
from quantize.report import QuantizeReport, QuantizeResult
from quantize.samples import samples_of
from quantize.selection import name_nodes
from quantize.static import Options, build, measure

MODES = ("static", "dynamic", "weight-only")
FORMATS = ("qdq", "qoperator")
LEAST_OPSET = 13  # DequantizeLinear has an axis from here on
LOST_DB = 15.0


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
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    preset: str = "balanced",
    ranges: Mapping[str, tuple[float, float]] | None = None,
    target: Any = None,
    opset: int | None = None,
    feeds: Any = None,
    budget: Any = None,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> QuantizeResult:
    """Quantize `model`; the argument is never changed. The float model is optimized first, so that what is fused is measured fused.

    mode      "static": ranges measured on `data`
    data      samples: a path, a list of dicts, a callable, a number of generated ones (see `quantize.samples`)
    method    how a range is chosen: "auto" by what the next activation makes of it, "minmax", "moving-average", "percentile", "entropy", "mse"
    preset    which nodes are worth 8 bits: "balanced", "fast" (more of them), "full" (all that can be)
    include, exclude   nodes by name, operator, pattern or scope; a selector that matches nothing is an error
    ranges    {tensor: (low, high)} given instead of measured, as a calibration that was saved
    feeds     samples to judge the result by; the first calibration samples otherwise
    """
    began = perf_counter()
    _known("mode", mode, ("static",))
    _known("format", format, ("qdq",))
    _known("activations", activations, ("u8", "s8", "u16", "s16"))
    _known("weights", weights, ("s8", "u8"))
    _known("method", method, METHODS)
    _known("preset", preset, PRESETS)
    options = Options(
        activations, weights, per_channel, method, "gptq", preset, tuple(include), tuple(exclude), dict(ranges or {})
    )  # fmt: skip
    findings: list[Finding] = []
    already = sum(
        n.op in ("DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "ConvInteger", "MatMulInteger")
        for n in model.graph.nodes
    )
    if already:
        findings.append(
            Finding(
                "Q002",
                "warning",
                "",
                f"{already} nodes of the model compute on integers already",
                "quantize the float original instead",
            )
        )
    work = _prepared(model, opset, options, findings, progress, cancel)
    samples = samples_of(work, data)
    if samples.generated:
        hint = "--data FILE: accuracy on real inputs is not known without it"
        findings.append(Finding("Q001", "warning", "", samples.source, hint))
    measured = measure(work, samples, options, progress=progress, cancel=cancel)
    built = build(measured)
    measured.products.clear()
    measured.rounded.clear()
    findings += [*measured.findings, *built.findings]
    if not built.nodes:
        hint = "--preset full takes every one that can be"
        findings.append(Finding("Q050", "warning", "", "no node was worth or fit for 8 bits", hint))
    judged_by = [feeds] if isinstance(feeds, Mapping) else measured.calibration.kept if feeds is None else list(feeds)
    outputs = Judge.of(model, judged_by).outputs(built.model, cancel=cancel)
    findings += [
        Finding("Q040", "warning", o.name, f"{o.sqnr_db:.1f} dB against the original", "leave nodes out with --exclude, or calibrate with other data")
        for o in outputs if o.sqnr_db < LOST_DB
    ]  # fmt: skip
    macs = sum(n.macs for n in built.nodes)
    report = QuantizeReport(
        mode, format, activations, weights, per_channel, method, preset, samples.source, measured.calibration.samples, (model.opset, built.model.opset),
        built.nodes, built.tensors, outputs, tuple(findings), weight_bytes(model), weight_bytes(built.model),
        _count(built.model, "QuantizeLinear"), _count(built.model, "DequantizeLinear"), macs, measured.chosen.macs, perf_counter() - began,
    )  # fmt: skip
    return QuantizeResult(built.model, report)


def _known(option: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise OptionError(f"no {option} {value!r}", why=f"there are {', '.join(known)}", hint=nearest(value, known))


def _prepared(
    model: Model, opset: int | None, options: Options, findings: list[Finding], progress: Progress | None, cancel: Cancel | None
) -> Model:  # fmt: skip
    """The float model, optimized and at an opset that can say what is written; named selectors still find their nodes."""
    from passes.optimize import optimize

    least = max(LEAST_OPSET, 21 if TYPES[options.activations].bits > 8 else 0)
    wanted = opset or max(model.opset, least)
    if wanted > model.opset:
        findings.append(Finding("Q030", "note", "", f"opset {model.opset} → {wanted}"))
    raised = wanted if wanted != model.opset else None
    result = optimize(
        model, "default", opset=raised, target="onnxruntime", verify=False, progress=progress, cancel=cancel
    ).model
    name_nodes(result.graph)
    return result


def weight_bytes(model: Model) -> int:
    """Bytes of all constants, each once."""
    from exec.ir import Constant

    found = {
        id(t): t.nbytes for n in model.graph.nodes for t in (*n.inputs, *n.attrs.values()) if isinstance(t, Constant)
    }
    return sum(found.values())


def _count(model: Model, op: str) -> int:
    return sum(n.op == op for n in model.graph.nodes)
