"""The part of a model that can run although some of its operators cannot: what they make becomes an input, as far as its shape is known."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from exec.errors import UnsupportedOp
from exec.ir import Constant, Model, Node, reads, subgraphs_of
from workbench.coverage import how
from workbench.editing import extract
from workbench.shapes import inferred


@dataclass(frozen=True, slots=True)
class Lost:
    """A node that cannot be run, and why."""

    node: str
    reason: str


def runnable(model: Model, begin: Collection[str] | None = None) -> tuple[Model, tuple[Lost, ...]]:
    """The part that the embedded engine runs, and the nodes that it leaves out; the model itself where it runs all.

    begin  the values with which it may begin again; any whose type and rank are known where it is not given

    Raises `UnsupportedOp` where nothing is left.
    """
    local = {(f.domain, f.name) for f in model.functions}
    opsets, ways = dict(model.opsets), dict.fromkeys(local, "local")
    without = {id(n): missing for n in model.graph.nodes if (missing := _missing(n, opsets, ways))}
    if not without:
        return model, ()
    shapes = inferred(model)
    gone: set[int] = set()  # ids of values that nobody makes
    cut: dict[str, Any] = {}
    lost: list[Lost] = []
    kept: list[Node] = []
    for index, node in enumerate(model.graph.nodes):
        label = node.name or f"{node.op}#{index}"
        needs = next((t for t in reads(node) if id(t) in gone), None)
        if needs is not None:
            lost.append(
                Lost(
                    label,
                    f"it reads {needs.name}, {'whose shape nobody knows' if begin is None else 'which nobody makes'}",
                )
            )
            gone.update(id(t) for t in node.outputs)
        elif id(node) in without:
            lost.append(Lost(label, f"no kernel for {without[id(node)]}"))
            for tensor in node.outputs:
                if _is_known(tensor, shapes) and (begin is None or tensor.name in begin):
                    cut[tensor.name] = tensor
                else:
                    gone.add(id(tensor))
        else:
            kept.append(node)
    if not kept:
        raise UnsupportedOp(f"nothing of this model can be run: {lost[0].reason}", f"node {lost[0].node}")
    used = {id(t) for node in kept for t in reads(node)}
    final = {id(t) for t in model.graph.outputs}
    ends = [t.name for n in kept for t in n.outputs if t.name and (id(t) in final or id(t) not in used)]
    starts = [t.name for t in model.graph.inputs] + [name for name, t in cut.items() if id(t) in used]
    return extract(model, starts, ends), tuple(lost)


def _missing(node: Node, opsets: Mapping[str, int], ways: dict[tuple[str, str], str]) -> str:
    """The operator that has no kernel, the node's own or one inside it; `ways` remembers what was looked up."""
    for part in (node, *(n for graph in subgraphs_of(node) for n in graph.nodes)):
        domain = part.domain or ""
        opset = opsets.get(domain, 1)
        if (domain, part.op) not in ways:
            ways[domain, part.op] = how(part.op, domain, opset)
        if ways[domain, part.op] == "none":
            return f"{domain or 'ai.onnx'}::{part.op}, opset {opset}"
    return ""


def _is_known(tensor: Any, shapes: Any) -> bool:
    """Whether the file or inference tells type and rank, so that a value can be made up."""
    dtype, shape = shapes.get(id(tensor), ("", None))
    known = tensor.shape is not None or shape is not None
    return known and not isinstance(tensor, Constant) and (tensor.dtype is not None or dtype not in ("", "?"))
