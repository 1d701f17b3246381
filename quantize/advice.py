"""Whether to quantize at all: small nets gain nothing, and that is said with numbers."""

from __future__ import annotations

from dataclasses import replace

from quantize.findings import Finding
from quantize.latency import Stopwatch
from quantize.quality import Judge
from quantize.report import Timing
from quantize.samples import Samples
from quantize.static import Measured, build, measure

WORTH = 0.95
"""Of the float model's time; a result above it is no gain."""

HINT = "keep it float, or --preset full for the size alone"


def nothing_chosen(measured: Measured) -> Finding:
    """Why no node was taken, in numbers."""
    chosen = measured.chosen
    if not chosen.possible:
        return Finding("Q050", "warning", "", "no node was fit for 8 bits", "the findings say why of each")
    if measured.options.include or measured.options.exclude:
        return Finding(
            "Q050",
            "warning",
            "",
            f"none of the {len(chosen.possible)} products left by the selection is worth 8 bits",
            HINT,
        )
    densest = max(chosen.possible, key=lambda c: c.intensity)
    stored = sum(c.layer.weight.nbytes for c in chosen.possible)
    text = (
        f"do not quantize this one: {chosen.macs / 1e6:,.1f} million multiply-adds, {stored / 1e6:.2f} MB of weights in {len(chosen.possible)} products; "
        f"the densest, '{densest.node.name}', has {densest.intensity:.0f} multiply-adds per element moved"
    )
    return Finding("Q050", "warning", "", text, HINT)


def tried(measured: Measured, samples: Samples) -> Finding | None:
    """What all nodes in 8 bits would give, measured; None when there are none."""
    if not measured.chosen.possible:
        return None
    options = replace(measured.options, preset="full", include=())
    everything = measure(measured.model.copy(), samples, options)
    built = build(everything)
    kept = everything.calibration.kept
    watch = Stopwatch(measured.model, kept[0])
    share = watch.ratio(built.model)
    db = Judge.of(measured.model, kept).sqnr_db(built.model)
    saved = sum(c.layer.weight.nbytes for c in everything.chosen.taken) * 3 / 4
    text = (
        f"all {len(built.nodes)} products in 8 bits take {share:.2f} of the float model's time in {watch.engine}, "
        f"keep {db:.1f} dB and save {saved / 1e6:.2f} MB"
    )
    return Finding("Q052", "warning", "", text, HINT)


def no_gain(timing: Timing, before_bytes: int, after_bytes: int) -> Finding | None:
    """A finding when the result is not faster."""
    if timing.of_optimized <= WORTH:
        return None
    text = (
        f"the result takes {timing.of_optimized:.2f} of the optimized float model's time ({timing.float_ms:.2f} ms in {timing.engine}) "
        f"and is {(before_bytes - after_bytes) / 1e6:.2f} MB smaller"
    )
    if timing.engine != "onnxruntime":
        return Finding(
            "Q052",
            "note",
            "",
            text,
            "only onnxruntime computes QDQ graphs on integers: pip install 'onnx-workbench[ort]'",
        )
    return Finding("Q052", "warning", "", text, HINT)
