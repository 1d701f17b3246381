"""Every node of a model as columns: the table behind `owb nodes`, selection and the TUI's Graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from exec.budget import element_count
from exec.dtypes import dtype_name
from exec.ir import Constant, Graph, Model, Node
from workbench import query
from workbench.query import Term
from workbench.scopes import module_of, scope_of

Shape = tuple[int | str | None, ...]


@dataclass(frozen=True, slots=True)
class NodeId:
    """A node by place, never by name: names may be empty or repeat.

    graph  "" for the main graph; "12.then_branch" for the subgraph held by node 12 of it, and so on
    index  position in that graph's node list
    """

    graph: str
    index: int


@dataclass(frozen=True, slots=True)
class NodeTable:
    """One entry a node in every column; None where a value is not known.

    name     the node's own name, "" when it has none; `label` gives what to show
    shape    of the first output
    time_ns  median of the profile that was given
    """

    id: tuple[NodeId, ...]
    node: tuple[Node, ...]
    op: tuple[str, ...]
    domain: tuple[str, ...]
    name: tuple[str, ...]
    scope: tuple[str, ...]
    shape: tuple[Shape | None, ...]
    dtype: tuple[str, ...]
    params: tuple[int, ...]
    macs: tuple[int | None, ...]
    bytes: tuple[int | None, ...]
    time_ns: tuple[float | None, ...]

    def __len__(self) -> int:
        return len(self.id)

    def label(self, row: int) -> str:
        """The name, or the operator and its place: "Constant#12"."""
        return self.name[row] or f"{self.op[row]}#{self.id[row].index}"


@dataclass(frozen=True, slots=True)
class Measures:
    """What is known of a node beyond its structure, by identity of the node."""

    macs: Mapping[int, int]
    bytes: Mapping[int, int]
    time_ns: Mapping[int, float]


NOTHING = Measures({}, {}, {})


def graphs(model: Model) -> Iterator[tuple[str, Graph]]:
    """(path, graph) of the main graph, its subgraphs, and the functions as "function domain::name"."""
    yield from _below("", model.graph)
    for function in model.graph.functions:
        yield from _below(f"function {function.domain}::{function.name}", function)


def _below(path: str, graph: Graph) -> Iterator[tuple[str, Graph]]:
    yield path, graph
    for index, node in enumerate(graph.nodes):
        for key, value in node.attrs.items():
            if isinstance(value, Graph):
                yield from _below(f"{path}{'.' if path else ''}{index}.{key}", value)


def node_table(
    model: Model, measures: Measures = NOTHING, shapes: Mapping[int, tuple[str, Shape | None]] | None = None
) -> NodeTable:
    """List every node: the main graph, then what its nodes hold, in order.

    shapes  id(tensor) → (dtype, shape) from inference; the file's own value_info serves otherwise
    """
    shapes = shapes or {}
    ids, nodes, out = [], [], []
    for path, graph in graphs(model):
        for index, node in enumerate(graph.nodes):
            ids.append(NodeId(path, index))
            nodes.append(node)
            first = node.outputs[0] if node.outputs else None
            out.append(("", None) if first is None else shapes.get(id(first)) or declared(first))
    names = tuple(n.name or "" for n in nodes)
    return NodeTable(
        tuple(ids),
        tuple(nodes),
        tuple(n.op for n in nodes),
        tuple(n.domain or "" for n in nodes),
        names,
        tuple(scope_of(n.name or "", n.op) or module_of(n) for n in nodes),
        tuple(s for _, s in out),
        tuple(d for d, _ in out),
        tuple(map(parameters, nodes)),
        tuple(measures.macs.get(id(n)) for n in nodes),
        tuple(measures.bytes.get(id(n)) for n in nodes),
        tuple(measures.time_ns.get(id(n)) for n in nodes),
    )


def reshaped(table: NodeTable, shapes: Mapping[int, tuple[str, Shape | None]]) -> NodeTable:
    """The same rows with what inference found; every other column is shared."""
    firsts = [node.outputs[0] if node.outputs else None for node in table.node]
    out = [("", None) if first is None else shapes.get(id(first)) or declared(first) for first in firsts]
    return replace(table, shape=tuple(s for _, s in out), dtype=tuple(d for d, _ in out))


def declared(tensor: Any) -> tuple[str, Shape | None]:
    """What the file says of a value: (dtype name, shape)."""
    return dtype_name(tensor.dtype), None if tensor.shape is None else tuple(tensor.shape)


def weight_of(tensor: Any) -> Constant | None:
    """The weight behind a value: an initializer, or the tensor of the Constant node that makes it."""
    if isinstance(tensor, Constant):
        return tensor
    maker = tensor.inputs[0] if len(tensor.inputs) == 1 else None
    if maker is None or maker.op != "Constant" or maker.domain:
        return None
    value = maker.attrs.get("value")
    return value if isinstance(value, Constant) else None


def default_of(tensor: Any) -> Constant | None:
    """The weight that an input need not be fed for: an overridable initializer, as a constant of its name."""
    default = getattr(tensor, "default", None)
    return None if default is None else Constant(tensor.name, default)


def parameters(node: Node) -> int:
    """Elements of the weights a node reads, initializers, defaults and Constant nodes alike; a Constant node's own value."""
    total = 0
    for value in (*(weight_of(t) or default_of(t) for t in node.inputs), *node.attrs.values()):
        if isinstance(value, Constant):
            total += element_count(value.shape)
    return total


def select(table: NodeTable, text: str) -> list[int]:
    """Rows that satisfy a query, in order. Raises `OptionError` that points at the column."""
    rows: Sequence[int] = range(len(table))
    for term in query.parse(text):
        rows = _keep(table, rows, term)
    return list(rows)


def _keep(table: NodeTable, rows: Sequence[int], term: Term) -> list[int]:
    if not term.field:
        needle, name, op = term.value.lower(), table.name, table.op
        ops = {word for word in set(op) if needle in word.lower()}
        return [r for r in rows if (op[r] in ops or needle in name[r].lower()) is not term.negated]
    if term.field in query.NUMBER_FIELDS:
        values = _numbers(table, term)
        holds = query.number_test(term)
        return [r for r in rows if holds(values[r]) is not term.negated]
    if term.field == "near":
        near = _near(table, term)
        return [r for r in rows if (r in near) is not term.negated]
    return [r for r, value in zip(rows, _texts(table, rows, term), strict=True) if value is not term.negated]


def _numbers(table: NodeTable, term: Term) -> Sequence[float | None]:
    column: Sequence[float | None] = {
        "macs": table.macs,
        "bytes": table.bytes,
        "params": table.params,
        "time": table.time_ns,
    }[term.field]
    if query.is_share(term):
        total = sum(v for v in column if v is not None) or 1
        return [None if v is None else v / total for v in column]
    return column


def _texts(table: NodeTable, rows: Sequence[int], term: Term) -> Iterator[bool]:
    holds = query.text_test(term)
    several = query.any_text(holds)
    for r in rows:
        node = table.node[r]
        match term.field:
            case "op":
                yield holds(table.op[r])
            case "name":
                yield holds(table.name[r]) or (term.operator == ":" and term.value.lower() == table.label(r).lower())
            case "scope":
                yield holds(table.scope[r]) or table.scope[r].startswith((term.value + "/", term.value + "."))
            case "domain":
                yield holds(table.domain[r] or "ai.onnx")
            case "dtype":
                yield holds(table.dtype[r])
            case "shape":
                yield holds("x".join("?" if d is None else str(d) for d in table.shape[r] or ()))
            case "in":
                yield several([t.name for t in node.inputs])
            case "out":
                yield several([t.name for t in node.outputs])
            case "const":
                yield any(weight_of(t) is not None for t in node.inputs) is (term.value.lower() in ("yes", "true", "1"))
            case _:
                yield _attribute(node, term)


def _attribute(node: Node, term: Term) -> bool:
    value = node.attrs.get(term.field.removeprefix("attr."))
    if value is None:
        return False
    if term.operator in (":", ":~"):
        return query.text_test(term)(str(value))
    return isinstance(value, (int, float)) and query.number_test(term)(float(value))


def _near(table: NodeTable, term: Term) -> set[int]:
    """Rows within K steps of a node, along producers and readers: `near:NODE,2`."""
    name, _, hops = term.value.rpartition(",")
    if not hops.isdigit():
        name, hops = term.value, "1"
    start = [r for r in range(len(table)) if table.label(r) == name]
    if not start:
        from exec.errors import OptionError, nearest

        raise OptionError(
            f"query: no node {name!r}",
            f"column {term.column + 1}",
            hint=nearest(name, map(table.label, range(len(table)))),
        )
    row_of = {id(n): r for r, n in enumerate(table.node)}
    seen, edge = set(start), set(start)
    for _ in range(int(hops)):
        step = {row_of[id(n)] for r in edge for n in neighbours(table.node[r]) if id(n) in row_of}
        edge = step - seen
        seen |= edge
    return seen


def neighbours(node: Node) -> Iterator[Node]:
    """The nodes that make its inputs and those that read its outputs."""
    for tensor in node.inputs:
        yield from tensor.inputs
    for tensor in node.outputs:
        yield from tensor.outputs
