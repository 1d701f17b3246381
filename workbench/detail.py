"""One node in full: what flows in and out, its attributes beside the specification's defaults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import onnx

from exec.ir import Constant, Graph, Model, Node
from exec.ir.opsets import schema_of
from exec.wording import counted
from workbench.nodes import NodeId, Shape, declared

_MOST_TEXT = 200


@dataclass(frozen=True, slots=True)
class Link:
    """A value at one place of a node.

    role    the specification's name of the place: "X", "W"
    peers   the nodes on the other side: the one that makes an input, those that read an output
    bytes   of a constant; None for a value that is computed
    """

    role: str
    value: str
    dtype: str
    shape: Shape | None
    peers: tuple[NodeId, ...]
    constant: bool
    bytes: int | None
    output: bool


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute; `is_default` when the node does not say it or says what the specification assumes."""

    name: str
    text: str
    is_default: bool


@dataclass(frozen=True, slots=True)
class NodeDetail:
    """What the inspector and `owb show` tell of a node."""

    id: NodeId
    op: str
    domain: str
    name: str
    since: int | None
    inputs: tuple[Link, ...]
    outputs: tuple[Link, ...]
    attributes: tuple[Attribute, ...]
    doc: str
    origin: tuple[str, ...]


def node_detail(
    model: Model,
    node_id: NodeId,
    node: Node,
    places: Mapping[int, NodeId],
    shapes: Mapping[int, tuple[str, Shape | None]],
) -> NodeDetail:
    """Describe one node.

    places  id(node) → NodeId of every node, to follow links
    shapes  id(tensor) → (dtype, shape) where inference knows it
    """
    schema = schema_for(model, node)
    ends = {id(t): " (graph output)" for t in model.graph.outputs}
    starts = {
        id(t): " (graph input)" if getattr(t, "default", None) is None else " (input with a default)"
        for t in model.graph.inputs
    }

    def link(tensor: Any, role: str, output: bool) -> Link:
        dtype, shape = shapes.get(id(tensor)) or declared(tensor)
        others = tensor.outputs if output else tensor.inputs
        peers = tuple(places[id(n)] for n in others if id(n) in places)
        constant = isinstance(tensor, Constant)
        name = tensor.name + (ends if output else starts).get(id(tensor), "")
        return Link(role, name, dtype, shape, peers, constant, tensor.nbytes if constant else None, output)

    return NodeDetail(
        node_id, node.op, node.domain or "ai.onnx", node.name or "", None if schema is None else schema.since_version,
        tuple(link(t, role(schema, k, False), False) for k, t in enumerate(node.inputs) if t.name),
        tuple(link(t, role(schema, k, True), True) for k, t in enumerate(node.outputs) if t.name),
        tuple(attributes(node, schema)),
        "" if schema is None else (schema.doc or "").strip(),
        origin_of(node),
    )  # fmt: skip


def schema_for(model: Model, node: Node) -> onnx.defs.OpSchema | None:
    """The specification of the node's operator at the model's opset, None for foreign operators."""
    domain = node.domain or ""
    return schema_of(node.op, model.opsets.get(domain, 1), domain)


def role(schema: onnx.defs.OpSchema | None, place: int, output: bool) -> str:
    """The specification's name for an input or output; a variadic one gets a number."""
    formals = () if schema is None else schema.outputs if output else schema.inputs
    if not formals:
        return str(place)
    if place < len(formals) and formals[place].option != onnx.defs.OpSchema.FormalParameterOption.Variadic:
        return str(formals[place].name)
    return f"{formals[-1].name}{place - len(formals) + 1}"


def attributes(node: Node, schema: onnx.defs.OpSchema | None) -> list[Attribute]:
    """The node's own attributes, then the defaults it leaves unsaid."""
    known = {} if schema is None else schema.attributes
    out = []
    for name, value in node.attrs.items():
        default = _default(known[name]) if name in known else None
        text = value_text(value)
        out.append(Attribute(name, text, default is not None and text == value_text(default)))
    for name, spec in known.items():
        default = _default(spec)
        if name not in node.attrs and default is not None:
            out.append(Attribute(name, value_text(default), True))
    return out


@lru_cache(maxsize=4096)
def default_texts(op: str, domain: str, version: int) -> dict[str, str]:
    """What the specification assumes for the attributes a node leaves unsaid; empty for foreign operators."""
    schema = schema_of(op, version, domain)
    if schema is None:
        return {}
    return {name: value_text(d) for name, spec in schema.attributes.items() if (d := _default(spec)) is not None}


def _default(spec: Any) -> Any:
    if not spec.default_value.name:
        return None
    value = onnx.helper.get_attribute_value(spec.default_value)
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def value_text(value: Any) -> str:
    """An attribute's value in few words."""
    if isinstance(value, Graph):
        return f"graph of {counted(len(value.nodes), 'node')}"
    if isinstance(value, Constant):
        shape = "×".join(map(str, value.shape or ())) or "scalar"
        return f"tensor {getattr(value.dtype, 'name', value.dtype)} {shape}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)):
        text = " ".join(value_text(v) for v in value[:16])
        return text + (" …" if len(value) > 16 else "")
    return str(value)[:_MOST_TEXT]


def origin_of(node: Node) -> tuple[str, ...]:
    """The original names a rewrite recorded for this node; () when it is untouched, or when the entry is not ours."""
    recorded = node.metadata.get("owb.source", "")
    try:
        names = json.loads(recorded) if recorded else []
    except ValueError:
        return ()
    return tuple(map(str, names)) if isinstance(names, list) else ()
