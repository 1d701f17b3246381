"""`quantize`: a model in, a smaller one out, and a report of everything that was done and left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from exec.errors import OptionError, nearest
from exec.ir import Model
from exec.metrics import difference
from exec.progress import Cancel, Progress
from exec.session import Session
from quantize.findings import Finding
from quantize.numerics import TYPES
from quantize.observers import METHODS
from quantize.placement import PRESETS
from quantize.report import OutputQuality, QuantizeReport, QuantizeResult
from quantize.samples import samples_of
from quantize.selection import name_nodes
from quantize.static import Options, Outcome, quantize_static

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
        findings.append(
            Finding(
                "Q001", "warning", "", samples.source, "--data FILE: accuracy on real inputs is not known without it"
            )
        )
    outcome = quantize_static(work, samples, options, progress=progress, cancel=cancel)
    findings += outcome.findings
    if not outcome.nodes:
        findings.append(
            Finding(
                "Q050",
                "warning",
                "",
                "no node was worth or fit for 8 bits",
                "--preset full takes every one that can be",
            )
        )
    outputs = _judged(model, work, outcome, feeds)
    findings += [
        Finding("Q040", "warning", o.name, f"{o.sqnr_db:.1f} dB against the original", "leave nodes out with --exclude, or calibrate with other data")
        for o in outputs if o.sqnr_db < LOST_DB
    ]  # fmt: skip
    report = QuantizeReport(
        mode, format, activations, weights, per_channel, method, preset, samples.source, outcome.calibration.samples, (model.opset, work.opset),
        tuple(outcome.nodes), tuple(outcome.tensors), outputs, tuple(findings), weight_bytes(model), weight_bytes(work),
        _count(work, "QuantizeLinear"), _count(work, "DequantizeLinear"), outcome.macs_int8, outcome.macs_total, perf_counter() - began,
    )  # fmt: skip
    return QuantizeResult(work, report)


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


def _judged(model: Model, work: Model, outcome: Outcome, feeds: Any) -> tuple[OutputQuality, ...]:
    """Each output of the result against the original's, over the kept samples as one."""
    import numpy as np

    kept = outcome.calibration.kept
    given = [f for f, _ in kept] if feeds is None else list(feeds) if isinstance(feeds, (list, tuple)) else [feeds]
    original, quantized = Session(model), Session(work)
    want: dict[str, list[Any]] = {}
    got: dict[str, list[Any]] = {}
    for sample in given:
        for store, session in ((want, original), (got, quantized)):
            for name, value in session.run(sample).items():
                store.setdefault(name, []).append(
                    np.asarray(value).reshape(-1) if isinstance(value, np.ndarray) else value
                )
    rows = []
    for name, values in want.items():
        if not all(isinstance(v, np.ndarray) for v in values):
            continue
        a, b = np.concatenate(values), np.concatenate(got[name])
        gap = difference(a, b)
        rows.append(OutputQuality(name, gap.sqnr_db, gap.cosine, gap.max_abs, None))
    return tuple(rows)


def weight_bytes(model: Model) -> int:
    """Bytes of all constants, each once."""
    from exec.ir import Constant

    found = {
        id(t): t.nbytes for n in model.graph.nodes for t in (*n.inputs, *n.attrs.values()) if isinstance(t, Constant)
    }
    return sum(found.values())


def _count(model: Model, op: str) -> int:
    return sum(n.op == op for n in model.graph.nodes)
