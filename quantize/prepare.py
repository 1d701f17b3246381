"""The float model a quantization starts from: optimized, at an opset that can say what is written, with named nodes."""

from __future__ import annotations

from onnx.defs import get_all_schemas_with_history

from exec.errors import OptionError
from exec.ir import Model, Node, walk
from exec.ir.opsets import is_known, schema_of
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


def newest_operator(model: Model) -> tuple[int, Node | None]:
    """The first opset that has all operators of `model`, and a node that needs it; (0, None) where the model's own has them.

    Exporters write a LayerNormalization into files of older opsets; runtimes take it, a conversion to an opset without it cannot.
    """
    newest: tuple[int, Node | None] = (0, None)
    for graph in walk(model.graph):
        for node in graph.nodes:
            if node.domain or not is_known(node.op, "") or schema_of(node.op, model.opset) is not None:
                continue
            since = min(s.since_version for s in get_all_schemas_with_history() if s.name == node.op and not s.domain)
            if since > max(newest[0], model.opset):
                newest = since, node
    return newest


def prepared(
    model: Model, opset: int | None, options: Options, findings: list[Finding], progress: Progress | None, cancel: Cancel | None, *, least: int = 0
) -> Model:  # fmt: skip
    """The float model, optimized and at an opset that can say what is written; named selectors still find their nodes."""
    least = max(least, least_opset(options.activations, options.weights))
    newer, node = newest_operator(model)
    if opset not in (None, model.opset) and node is not None and opset < newer:
        text = f"{node.op} of '{node.name}' exists since opset {newer}"
        raise OptionError(f"opset {opset} is too low", why=text, hint=f"opset {newer} or higher, or none given")
    wanted = opset or (model.opset if model.opset >= least else max(least, newer))
    if wanted > model.opset:
        why = f": {node.op} exists since then" if node is not None and wanted == newer else ""
        findings.append(Finding("Q030", "note", "", f"opset {model.opset} → {wanted}{why}"))
    raised = wanted if wanted != model.opset else None
    result = optimize(
        model, "default", opset=raised, target="onnxruntime", verify=False, progress=progress, cancel=cancel
    ).model
    name_nodes(result.graph)
    return result
