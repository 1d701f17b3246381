"""Graph → ModelProto. What nobody touched is exported as the proto it came from; what was, keeps every field nobody edited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx
import onnx_graphsurgeon as gs

from exec.ir import attributes, infos, initializers
from exec.ir.described import describe
from exec.ir.graph import Function, Graph
from exec.ir.names import copy_of, set_text, set_texts, text
from exec.ir.node import Node
from exec.ir.opaque import Opaque
from exec.ir.opsets import default_opset, standard
from exec.ir.records import Records
from exec.ir.scope import Level
from exec.ir.store import Blob, Store
from exec.ir.tensor import Constant

DOMAIN_VERSIONS = {"ai.onnx.ml": 3}


class Exporter:
    """One export: what all graphs of a model share."""

    def __init__(self, store: Store, lists_initializers: bool = False, protected: frozenset[str] = frozenset()) -> None:
        self.store = store
        self.lists_initializers = lists_initializers
        self.protected = protected
        self.domains: set[str] = set()
        self.opset = 0
        # New arrays, kept as long as the tokens in what is exported have to be valid.
        self.hold: list[Blob] = []
        self.uses: dict[int, dict[int, gs.Constant]] = {}

    def model(self, graph: Graph, shell: onnx.ModelProto, has_graph: bool = True) -> onnx.ModelProto:
        """The whole model; large weights stand as tokens of the store."""
        out = copy_of(shell)
        if (graph.ir_version or 0) != shell.ir_version:
            out.ir_version = graph.ir_version or 0
        for name in ("producer_name", "producer_version"):
            value = getattr(graph, name)
            if value != text(getattr(shell, name)):
                set_text(out, name, value)
        self.opset = graph.opset
        functions = [self.function(function) for function in graph.functions]
        self.opset, self.domains = graph.opset, set()
        if has_graph or graph.nodes or graph.inputs or graph.outputs:
            out.graph.SetInParent()
            self.graph(graph, out.graph, None, frozenset(), is_root=True)
        out.functions.extend(functions)
        self._opsets(out, graph)
        return out

    def _opsets(self, out: Any, graph: Graph) -> None:
        """Versions as the graph says them; spelling and order as the file has them; domains of new nodes added."""
        if graph.import_domains is None:
            wanted = [onnx.helper.make_opsetid("", graph.opset)]
        else:
            wanted = [copy_of(entry) for entry in graph.import_domains]
        # A default domain nobody imports counts as version 1, and stays unwritten.
        if graph.opset != graph._imported_opset and default_opset(wanted) != graph.opset:
            defaults = [entry for entry in wanted if standard(text(entry.domain)) == ""]
            for entry in defaults:
                entry.version = graph.opset
            if not defaults:
                wanted.append(onnx.helper.make_opsetid("", graph.opset))
        known = {standard(text(entry.domain)) for entry in wanted}
        for domain in sorted(self.domains - known):
            if domain:
                wanted.append(onnx.helper.make_opsetid(domain, DOMAIN_VERSIONS.get(domain, 1)))
        if [entry.SerializeToString() for entry in wanted] != [entry.SerializeToString() for entry in out.opset_import]:
            out.ClearField("opset_import")
            out.opset_import.extend(wanted)

    def graph(
        self,
        graph: gs.Graph,
        out: onnx.GraphProto,
        outer: Level | None,
        declared: frozenset[int] | set[int],
        is_root: bool = False,
    ) -> None:
        """Fill `out`; `declared` are the constants that graphs around this one write."""
        # graphsurgeon's own Graph looks up what it lacks among registered functions, and logs that there is none.
        records = (graph._records if isinstance(graph, Graph) else None) or Records()
        if isinstance(graph, Graph):
            if graph._g is not None:
                out.CopyFrom(graph._g)
            describe(graph, out)
        if graph.name != text(out.name):
            set_text(out, "name", graph.name or "")
        level = Level(graph, outer)
        plan = initializers.plan(self, graph, records, declared)
        for tensor in plan.constants:
            level.declare(tensor)
        level.declare_graph()
        inner = declared | {id(tensor) for tensor in plan.constants}
        out.node.extend([self.node(node, level, inner) for node in graph.nodes])
        initializers.write(self, plan, out)
        alive = level.alive | {id(tensor) for tensor in plan.constants}
        listed = plan.new if is_root and self.lists_initializers else ()
        hide = is_root and not self.lists_initializers
        out.input.extend(infos.inputs(graph.inputs, records.inputs, {id(t) for t in plan.constants}, listed, hide))
        out.output.extend(infos.outputs(graph.outputs, records.outputs))
        out.value_info.extend(infos.value_info(graph, records, alive))
        out.quantization_annotation.extend(infos.quantization(records.annotations, alive))

    def node(self, node: Node, level: Level, declared: frozenset[int] | set[int]) -> onnx.NodeProto:
        """The node's own proto if nothing of it changed, else a patched copy."""
        inputs, outputs = level.names_of(node)
        proto: onnx.NodeProto | None = getattr(node, "_o", None)
        domain = node.domain or ""
        if proto is None:
            out = onnx.NodeProto()
            out.op_type = node.op
            self.domains.add(standard(domain))
        else:
            if (
                node.op == proto.op_type
                and inputs == proto.input
                and outputs == proto.output
                and node.name == proto.name
                and standard(domain) == standard(text(proto.domain))
                and node._doc is None
                and node._metadata is None
                and node.overload == proto.overload
                and same_attributes(node.attrs, proto.attribute)
            ):
                return proto
            out = copy_of(proto)
        moved = node.op != text(out.op_type) or standard(domain) != standard(text(out.domain))
        if node.op != text(out.op_type):
            set_text(out, "op_type", node.op)
        if standard(domain) != standard(text(out.domain)):
            set_text(out, "domain", domain)
            self.domains.add(standard(domain))
        overload = getattr(node, "overload", "")
        if overload != text(out.overload):
            set_text(out, "overload", overload)
        elif moved and overload:
            # The overload named one of the old op's functions.
            out.ClearField("overload")
        if node.name != text(out.name):
            set_text(out, "name", node.name or "")
        if [text(name) for name in out.input] != inputs:
            set_texts(out, "input", inputs)
        if [text(name) for name in out.output] != outputs:
            set_texts(out, "output", outputs)
        describe(node, out)
        where = f"node {node.name or node.op!r}"
        self.attributes(node.attrs, out, "attribute", (node.op, standard(domain)), level, declared, where)
        return out

    def attributes(
        self, attrs: dict[str, Any], out: Any, field: str, op: tuple[str, str], level: Level, declared: Any, where: str
    ) -> None:
        """Replace the attributes of `out`, each unchanged one by itself."""
        originals: dict[str, Any] = {}
        for item in getattr(out, field):
            originals.setdefault(text(item.name), item)
        made: list[Any] = []
        for name, value in attrs.items():
            original = originals.get(name)
            if value is None:
                continue
            if isinstance(value, Opaque):
                for proto in value._protos:
                    made.append(proto)
                    if text(proto.name) != name:
                        made[-1] = copy_of(proto)
                        set_text(made[-1], "name", name)
            elif original is not None and not isinstance(value, gs.Graph) and attributes.unchanged(value, original):
                made.append(copy_of(original))
            else:
                made.append(self.attribute(name, value, original, op, level, declared, f"{where}, attribute {name!r}"))
        out.ClearField(field)
        getattr(out, field).extend(made)

    def attribute(
        self, name: str, value: Any, original: Any, op: tuple[str, str], level: Level, declared: Any, where: str
    ) -> onnx.AttributeProto:
        """A new or changed attribute; its doc string and its type stay where the value allows it."""
        out = onnx.AttributeProto() if original is None else copy_of(original)
        wanted = out.type or attributes.schema_types(op[0], op[1], self.opset or 1).get(name)
        kind = attributes.kind_of(value, wanted, where)
        if original is None:
            set_text(out, "name", name)
        if isinstance(value, gs.Node.AttributeRef):
            attributes.set_reference(out, value, kind)
            return out
        if out.type and kind != out.type:
            for field in attributes.FIELDS.values():
                out.ClearField(field)
        out.ClearField("ref_attr_name")
        out.type = kind
        if kind == onnx.AttributeProto.TENSOR:
            initializers.write_tensor(self, value, out.t)
        elif kind == onnx.AttributeProto.GRAPH:
            out.g.SetInParent()
            if isinstance(value, onnx.GraphProto):
                out.g.CopyFrom(value)
            else:
                self.graph(value, out.g, level, declared)
        elif kind == onnx.AttributeProto.TYPE_PROTO:
            out.tp.CopyFrom(value)
        elif kind == onnx.AttributeProto.SPARSE_TENSOR:
            out.sparse_tensor.CopyFrom(value)
        elif kind == onnx.AttributeProto.TENSORS:
            out.ClearField("tensors")
            for item in value:
                initializers.write_tensor(self, item, out.tensors.add())
        elif kind == onnx.AttributeProto.GRAPHS:
            out.ClearField("graphs")
            for item in value:
                self.graph(item, out.graphs.add(), level, declared)
        else:
            attributes.write_plain(out, kind, value, where)
        return out

    def function(self, function: Function) -> onnx.FunctionProto:
        """A function; its new constants become Constant nodes, first in the body."""
        self.domains, self.opset = set(), function.opset or self.opset
        records, shell = function._records or Records(), function._f
        out = onnx.FunctionProto() if shell is None else copy_of(shell)
        for name, value in (("name", function.name), ("overload", function.overload)):
            if value != text(getattr(out, name)):
                set_text(out, name, value)
        if standard(function.domain or "") != standard(text(out.domain)):
            set_text(out, "domain", function.domain or "")
        describe(function, out)
        for name, tensors in (("input", function.inputs), ("output", function.outputs)):
            names = [tensor.name for tensor in tensors]
            if names != [text(item) for item in getattr(out, name)]:
                set_texts(out, name, names)
        level = Level(function, None)
        plan = initializers.plan(self, function, records, frozenset())
        for tensor in plan.constants:
            level.declare(tensor)
        level.declare_graph()
        declared = {id(tensor) for tensor in plan.constants}
        out.node.extend([self._constant_node(tensor) for tensor in plan.constants])
        out.node.extend([self.node(node, level, declared) for node in function.nodes])
        out.value_info.extend(infos.value_info(function, records, level.alive | declared))
        self._function_attributes(function, out, level)
        if function.import_domains is not None or shell is None:
            self._opsets(out, function)
        return out

    def _function_attributes(self, function: Function, out: Any, level: Level) -> None:
        required = [name for name, value in function.attrs.items() if value is None]
        if required != [text(name) for name in out.attribute]:
            set_texts(out, "attribute", required)
        defaults = {name: value for name, value in function.attrs.items() if value is not None}
        if not same_attributes(defaults, out.attribute_proto):
            where = f"function {function.name!r}"
            self.attributes(
                defaults, out, "attribute_proto", (function.name, function.domain), level, frozenset(), where
            )

    def _constant_node(self, tensor: Constant) -> onnx.NodeProto:
        node = onnx.NodeProto(op_type="Constant")
        set_texts(node, "output", [tensor.name])
        item = node.attribute.add()
        item.name, item.type = "value", onnx.AttributeProto.TENSOR
        initializers.write_tensor(self, tensor, item.t)
        return node


def same_attributes(attrs: dict[str, Any], protos: Any) -> bool:
    """Whether `attrs` says what the attributes say, in their order. A graph is looked into elsewhere: never the same."""
    if not attrs:
        return not protos
    if len(attrs) != len(protos):
        return False
    unchanged: Callable[[Any, Any], bool] = attributes.unchanged
    for (name, value), proto in zip(attrs.items(), protos, strict=True):
        if not unchanged(value, proto) or (name != proto.name and name != text(proto.name)):
            return False
    return True
