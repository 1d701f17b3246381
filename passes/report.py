"""What an optimization did, as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from exec.ir import Constant, Graph, Model, Node, walk


@dataclass(frozen=True, slots=True)
class Application:
    """One rewrite that was applied.

    node     where, for people: "Conv_12 + BatchNormalization_13"
    sources  names of the original nodes it concerned
    """

    rule: str
    node: str
    sources: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """One rewrite that nearly was; `sources` are the nodes of the original behind the one it was refused at."""

    rule: str
    node: str
    reason: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Undone:
    """A rewrite that was taken back, and how it was found out ("the outputs differ …", "a value's type …")."""

    rule: str
    node: str
    sources: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class RuleUse:
    """A rule's share of the work."""

    rule: str
    applied: int
    refused: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Census:
    """The size of a model: nodes by op type (subgraphs and functions included, Constant nodes not), constants and their bytes."""

    nodes: int
    constant_nodes: int
    by_op: Mapping[str, int]
    initializers: int
    parameters: int
    weight_bytes: int


@dataclass(frozen=True, slots=True)
class Verification:
    """How the result was compared with the original.

    scope      "whole", "regions" or "none"
    runs       sets of inputs tried
    regions    patches compared one by one, of how many; beside a whole run, too
    worst      largest difference as a share of the range, over all outputs
    reason     why it was not done, or not whole
    unproven   outputs on which the inputs showed nothing: no finite number, or the same one everywhere
    """

    scope: str
    runs: int = 0
    regions: int = 0
    of: int = 0
    worst: float = 0.0
    tolerance: float = 0.0
    seconds: float = 0.0
    reason: str = ""
    unproven: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """Everything an optimization did.

    overridable  initializers that are inputs, too, where they held a rewrite back; 0 where they did not
    taken        initializers that were inputs, too, and are weights now
    """

    passes: tuple[str, ...]
    target: str
    opset: tuple[int, int]
    applied: tuple[Application, ...]
    refused: tuple[Refused, ...]
    undone: tuple[Undone, ...]
    rules: tuple[RuleUse, ...]
    before: Census
    after: Census
    vanished: tuple[str, ...]
    verification: Verification
    seconds: float
    sweeps: int
    overridable: int = 0
    taken: int = 0

    def why(self, node: str) -> tuple[Refused, ...]:
        """The refusals at a node, by its name now or in the original."""
        return tuple(r for r in self.refused if node == r.node or node in r.sources)

    def of(self, rule: str) -> tuple[Application, ...]:
        """The applications of one rule."""
        return tuple(a for a in self.applied if a.rule == rule)


def graphs_of(model: Model) -> Iterator[Graph]:
    """The main graph, its subgraphs, and the bodies of functions with theirs."""
    yield from walk(model.graph)
    for function in model.graph.functions:
        yield from walk(function)


def census(model: Model) -> Census:
    """Count a model."""
    ops: Counter[str] = Counter()
    constants: dict[int, Constant] = {}
    in_nodes: dict[int, Constant] = {}
    for graph in graphs_of(model):
        for node in graph.nodes:
            ops[op_name(node)] += 1
            if node.op == "Constant" and isinstance(value := node.attrs.get("value"), Constant):
                in_nodes[id(value)] = value
            for tensor in node.inputs:
                if isinstance(tensor, Constant):
                    constants[id(tensor)] = tensor
        for tensor in graph.outputs:
            if isinstance(tensor, Constant):
                constants[id(tensor)] = tensor
    constant_nodes = ops.pop("Constant", 0)
    parameters = weight_bytes = 0
    for tensor in (*constants.values(), *in_nodes.values()):
        count = 1
        for d in tensor.shape:
            count *= d
        parameters += count
        weight_bytes += tensor.nbytes
    by_op = dict(sorted(ops.items(), key=lambda item: (-item[1], item[0])))
    return Census(sum(ops.values()), constant_nodes, by_op, len(constants), parameters, weight_bytes)


def op_name(node: Node) -> str:
    """The op with its domain where that is not the default one."""
    return f"{node.domain}::{node.op}" if node.domain else node.op


def value_names(model: Model) -> set[str]:
    """The names of every value a node makes."""
    return {t.name for graph in graphs_of(model) for node in graph.nodes for t in node.outputs if t.name}
