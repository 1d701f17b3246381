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
FLOAT8_OPSET = 19
WIDE_OPSET = 21  # 16-bit and 4-bit types, blocks


def least_opset(activations: str, weights: str, block_size: int | None = None) -> int:
    """The first opset that can say what these types need."""
    kinds = TYPES[activations], TYPES[weights]
    if any(k.bits not in (8, 32) for k in kinds) or block_size:
        return WIDE_OPSET
    return FLOAT8_OPSET if any(k.is_float for k in kinds) else LEAST_OPSET


def prepared(
    model: Model, opset: int | None, options: Options, findings: list[Finding], progress: Progress | None, cancel: Cancel | None, *, least: int = 0
) -> Model:  # fmt: skip
    """The float model, optimized and at an opset that can say what is written; named selectors still find their nodes."""
    least = max(least, least_opset(options.activations, options.weights))
    wanted = opset or max(model.opset, least)
    if wanted > model.opset:
        findings.append(Finding("Q030", "note", "", f"opset {model.opset} → {wanted}"))
    raised = wanted if wanted != model.opset else None
    result = optimize(
        model, "default", opset=raised, target="onnxruntime", verify=False, progress=progress, cancel=cancel
    ).model
    name_nodes(result.graph)
    return result
