"""The float model a quantization starts from: optimized, at an opset that can say what is written, with named nodes."""

from __future__ import annotations

from exec.ir import Model
from exec.progress import Cancel, Progress
from passes.optimize import optimize
from quantize.findings import Finding
from quantize.numerics import TYPES
from quantize.selection import name_nodes
from quantize.static import Options

LEAST_OPSET = 13  # DequantizeLinear has an axis from here on
WIDE_OPSET = 21  # 16-bit and 4-bit types, blocks


def prepared(
    model: Model, opset: int | None, options: Options, findings: list[Finding], progress: Progress | None, cancel: Cancel | None, *, least: int = 0
) -> Model:  # fmt: skip
    """The float model, optimized and at an opset that can say what is written; named selectors still find their nodes."""
    least = max(least, LEAST_OPSET, WIDE_OPSET if TYPES[options.activations].bits > 8 else 0)
    wanted = opset or max(model.opset, least)
    if wanted > model.opset:
        findings.append(Finding("Q030", "note", "", f"opset {model.opset} → {wanted}"))
    raised = wanted if wanted != model.opset else None
    result = optimize(
        model, "default", opset=raised, target="onnxruntime", verify=False, progress=progress, cancel=cancel
    ).model
    name_nodes(result.graph)
    return result
