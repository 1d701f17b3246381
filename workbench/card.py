"""What a model is, on one card: `inspect(model) -> Summary`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from exec.dtypes import dtype_name
from exec.errors import BenchError
from exec.ir import Constant, Graph, Model, ValueInfo, Weight, walk
from workbench.blocks import Block, repeated_blocks

FEW_NODES = 5_000
"""Up to so many nodes the shapes are inferred without being asked for."""


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of the model: a dim is an int, a symbol, or None where the file does not say."""

    name: str
    dtype: str
    shape: tuple[int | str | None, ...] | None


@dataclass(frozen=True, slots=True)
class WeightType:
    """The weights of one dtype."""

    dtype: str
    tensors: int
    parameters: int
    weight_bytes: int


@dataclass(frozen=True, slots=True)
class OperatorCount:
    """How often an operator stands in the model, subgraphs and functions included."""

    op: str
    domain: str
    nodes: int


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about the file that its reader should know."""

    code: str
    where: str
    message: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The card of a model. Counts include subgraphs and functions; Constant nodes are counted apart.

    defaults  inputs that need not be fed: they have a default, and it counts as a weight
    """

    name: str
    path: str | None
    file_bytes: int | None
    external_files: tuple[str, ...]
    producer: str
    ir_version: int
    opsets: dict[str, int]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    defaults: int
    nodes: int
    constant_nodes: int
    subgraphs: int
    functions: int
    parameters: int
    weight_bytes: int
    weights: tuple[WeightType, ...]
    operators: tuple[OperatorCount, ...]
    depth: int
    quantization: str
    notes: tuple[Remark, ...]
    blocks: tuple[Block, ...]
    work: Work | None


@dataclass(frozen=True, slots=True)
class Work:
    """What one run takes, from shapes alone.

    macs              multiply-adds of convolutions, matrix products and recurrent layers
    activation_bytes  values alive at one time, weights not counted
    sizes             what was assumed for open sizes: {"batch": 1}
    unknown_nodes     nodes whose outputs have no known size; they count as nothing
    """

    macs: int
    activation_bytes: int
    sizes: dict[str, int]
    unknown_nodes: int


def inspect(model: Model, *, work: bool | None = None) -> Summary:
    """Describe `model` from its structure; no weight is read and nothing runs.

    work  count multiply-adds and memory, which needs every shape; by default up to 5,000 nodes
    """
    counts: Counter[tuple[str, str]] = Counter()
    constants = subgraphs = 0
    weights: dict[int, Constant] = {}
    defaults = {
        id(t): Constant(t.name, t.default) for t in model.graph.inputs if getattr(t, "default", None) is not None
    }
    for number, graph in enumerate(_graphs(model.graph)):
        subgraphs += number > 0
        for node in graph.nodes:
            if node.op == "Constant" and not node.domain:
                constants += 1
            else:
                counts[node.op, node.domain or ""] += 1
            for tensor in node.inputs:
                if isinstance(tensor, Constant):
                    weights.setdefault(id(tensor), tensor)
                elif id(tensor) in defaults:
                    weights[id(tensor)] = defaults[id(tensor)]
            for value in node.attrs.values():
                if isinstance(value, Constant):
                    weights.setdefault(id(value), value)
    functions = len(model.graph.functions)
    by_type = _weight_types(weights.values())
    path = model.path
    return Summary(
        name=model.graph.name or "",
        path=str(path) if path is not None else None,
        file_bytes=Path(path).stat().st_size if path is not None and Path(path).exists() else None,
        external_files=_external_files(weights.values()),
        producer=" ".join(filter(None, (model.graph.producer_name, model.graph.producer_version))),
        ir_version=model.ir_version,
        opsets=dict(model.opsets),
        inputs=tuple(map(_port, model.inputs)),
        outputs=tuple(map(_port, model.outputs)),
        defaults=len(defaults),
        nodes=sum(counts.values()),
        constant_nodes=constants,
        subgraphs=subgraphs - functions,
        functions=functions,
        parameters=sum(w.parameters for w in by_type),
        weight_bytes=sum(w.weight_bytes for w in by_type),
        weights=by_type,
        operators=tuple(
            OperatorCount(op, domain, n)
            for (op, domain), n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        ),
        depth=_depth(model.graph),
        quantization=_quantization(counts),
        notes=tuple(Remark(n.code, n.where, n.message) for n in model.notes),
        blocks=repeated_blocks([node.op for node in model.graph.nodes if node.op != "Constant" or node.domain]),
        work=_work(model) if work or (work is None and sum(counts.values()) <= FEW_NODES) else None,
    )


def _work(model: Model) -> Work | None:
    """None where a weight that tells a shape cannot be read, or the model breaks a rule: the rest of the card still can."""
    from workbench.estimate import estimate

    if any(note.is_error for note in model.notes):
        return None
    try:
        found = estimate(model, shapes=False)
    except BenchError:
        return None
    return Work(found.macs, found.peak_bytes, found.sizes, found.unknown)


def _graphs(graph: Graph) -> Iterator[Graph]:
    """The main graph first, then subgraphs and functions."""
    for top in (graph, *graph.functions):
        yield from walk(top)


def _port(info: ValueInfo) -> Port:
    return Port(
        info.name, dtype_name(info.dtype) if info.kind == "tensor_type" else str(info.kind or "untyped"), info.shape
    )


def _external_files(constants: Iterable[Constant]) -> tuple[str, ...]:
    """The data files that the weights name, each once."""
    found: dict[str, None] = {}
    for constant in constants:
        weight = constant._values
        if isinstance(weight, Weight) and weight.is_external:
            location = next((e.value for e in weight.proto.external_data if e.key == "location"), "")
            found.setdefault(location)
    return tuple(found)


def _weight_types(constants: Iterable[Constant]) -> tuple[WeightType, ...]:
    table: dict[str, list[int]] = {}
    for constant in constants:
        size = 1
        for dim in constant.shape or ():
            size *= int(dim)
        row = table.setdefault(dtype_name(constant.dtype), [0, 0, 0])
        row[0] += 1
        row[1] += size
        row[2] += constant.nbytes
    return tuple(WeightType(name, *row) for name, row in sorted(table.items(), key=lambda item: -item[1][2]))


def _depth(graph: Graph) -> int:
    """Nodes on the longest path from an input or weight to an output; order of the list, so linear."""
    level: dict[int, int] = {}
    deepest = 0
    for node in graph.nodes:
        here = 1
        for tensor in node.inputs:
            above = level.get(id(tensor), 0)
            if above >= here:
                here = above + 1
        for tensor in node.outputs:
            level[id(tensor)] = here
        if here > deepest:
            deepest = here
    return deepest


def _quantization(counts: Counter[tuple[str, str]]) -> str:
    """ "none", "QDQ", "QOperator", "dynamic" or a mix, told from the operators."""
    kinds = []
    ops = {op for op, _ in counts}
    if "DequantizeLinear" in ops:
        kinds.append("QDQ")
    if any(op.startswith(("QLinear", "QGemm")) for op in ops):
        kinds.append("QOperator")
    if ops & {"DynamicQuantizeLinear", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul"}:
        kinds.append("dynamic")
    if ops & {"MatMulNBits", "MatMulBnb4"}:
        kinds.append("weight-only")
    return " + ".join(kinds) or "none"
