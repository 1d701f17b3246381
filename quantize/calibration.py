"""A calibration by itself: ranges to look at, to save, and to quantize with later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from exec.ir import Model
from exec.progress import Cancel, Progress
from quantize.findings import Finding
from quantize.prepare import prepared
from quantize.report import QuantizedTensor
from quantize.samples import samples_of
from quantize.selection import Selector
from quantize.static import Options, build, measure


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """The ranges of all values that the chosen nodes read and make in 8 bits."""

    tensors: tuple[QuantizedTensor, ...]
    findings: tuple[Finding, ...]
    samples: int
    data: str
    method: str
    preset: str
    seconds: float


def calibration(
    model: Model, data: Any = None, *, method: str = "auto", activations: str = "u8", weights: str = "s8", preset: str = "balanced",
    include: Sequence[Selector] = (), exclude: Sequence[Selector] = (), progress: Progress | None = None, cancel: Cancel | None = None,
) -> CalibrationReport:  # fmt: skip
    """Run the samples once; `model` is never changed. `quantize.ranges.write_ranges` saves the result."""
    began = perf_counter()
    findings: list[Finding] = []
    options = Options(
        activations, weights, method=method, preset=preset, include=tuple(include), exclude=tuple(exclude)
    )
    work = prepared(model, None, options, findings, progress, cancel)
    samples = samples_of(work, data)
    findings += samples.remarks()
    measured = measure(work, samples, options, progress=progress, cancel=cancel)
    built = build(measured, halves=False)
    seen = measured.calibration.samples
    return CalibrationReport(
        built.tensors, (*findings, *measured.findings), seen, samples.source, method, preset, perf_counter() - began
    )
