"""Which operators each engine can run, and how: with a kernel of its own, by expanding a function, or not at all."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from exec.definition import has_definition
from exec.engines import open_engine
from exec.errors import BenchError
from exec.ir import Model
from exec.ir.opsets import schema_of
from exec.kernels.registry import find
from workbench.nodes import graphs


@dataclass(frozen=True, slots=True)
class OpCoverage:
    """One operator of the model.

    embedded  "kernel", "function" (expanded), "reference" (onnx.reference, slow), "local" (a model-local function) or "none"
    """

    op: str
    domain: str
    opset: int
    nodes: int
    embedded: str
    example: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """Operators, the uncovered first; what onnxruntime says of the whole model, "" when it is not installed."""

    operators: tuple[OpCoverage, ...]
    onnxruntime: str

    @property
    def missing(self) -> tuple[OpCoverage, ...]:
        """What the embedded engine cannot run."""
        return tuple(o for o in self.operators if o.embedded == "none")


def coverage(model: Model) -> Coverage:
    """Look every operator up; the model is opened in onnxruntime, if that is here, but not run."""
    local = {(f.domain, f.name) for f in model.functions}
    nodes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for _, graph in graphs(model):
        for node in graph.nodes:
            nodes[node.op, node.domain or ""].append(node.name or node.op)
    rows = []
    for (op, domain), names in nodes.items():
        opset = model.opsets.get(domain, 1)
        rows.append(
            OpCoverage(
                op,
                domain or "ai.onnx",
                opset,
                len(names),
                "local" if (domain, op) in local else how(op, domain, opset),
                names[0],
            )
        )
    order = {"none": 0, "reference": 1, "function": 2, "local": 3, "kernel": 4}
    return Coverage(tuple(sorted(rows, key=lambda r: (order[r.embedded], r.op))), _onnxruntime(model))


def how(op: str, domain: str, opset: int) -> str:
    """How the embedded engine runs an operator."""
    if find(domain, op, opset) is not None:
        return "kernel"
    schema = schema_of(op, opset, domain)
    if schema is None:
        return "none"
    if has_definition(schema):
        return "function"
    from onnx.reference.ops import load_op

    try:
        load_op(domain, op, opset)
    except Exception:  # onnx.reference raises several kinds for an op it does not have
        return "none"
    return "reference"


def _onnxruntime(model: Model) -> str:
    try:
        open_engine(model, "onnxruntime")
    except BenchError as error:
        return "" if error.kind == "engine-missing" else f"refuses it: {error.what} {error.why}".strip()
    return "loads it"
