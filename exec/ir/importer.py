"""ModelProto → graph: own code, because graphsurgeon's drops fields, renames in the caller's proto and disconnects captured values.

Two phases per graph: every local name is declared (initializers, inputs, node outputs), then nodes are linked. A name that is not
local is looked up in the outer scopes; one that is nowhere becomes a local Variable and a note.

The message handed in is taken apart: its lists move into the graph's records, what is left stays attached as the shell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exec.ir.attributes import import_attribute
from exec.ir.graph import Constant, Function, Graph, Node, Variable
from exec.ir.links import Links
from exec.ir.names import copy_of, is_utf8, text
from exec.ir.notes import Note
from exec.ir.records import Annotation, Initializer, Listed, Origin, Records
from exec.ir.store import Store
from exec.ir.valuetypes import read_type
from exec.ir.weights import SparseWeight, Weight

if TYPE_CHECKING:
    import onnx

_new, _set = object.__new__, object.__setattr__


@dataclass(slots=True)
class Scope:
    """The names of one graph and of those around it."""

    names: dict[str | bytes, Any] = field(default_factory=dict)
    outer: Scope | None = None

    def find(self, name: str | bytes) -> Any:
        """The tensor a name means here, or None."""
        scope: Scope | None = self
        while scope is not None:
            tensor = scope.names.get(name)
            if tensor is not None:
                return tensor
            scope = scope.outer
        return None


class Importer:
    """One import: what all graphs of a model share."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.notes: list[Note] = []
        self.functions: list[Function] = []
        self.opset = 0
        self.domains: Any = None
        self.hides_defaults = False

    def model(self, proto: onnx.ModelProto) -> Graph:
        """The graph of `proto`, which is left as the shell: without graph and functions."""
        self.domains = list(proto.opset_import)
        self.opset = default_opset(self.domains)
        self.hides_defaults = proto.ir_version < 4
        for item in list(proto.functions):
            self.functions.append(self._function(item))
        proto.ClearField("functions")
        message = proto.graph
        graph = self.graph(message, None)
        proto.ClearField("graph")
        graph.import_domains = [copy_of(entry) for entry in self.domains]
        graph.producer_name = text(proto.producer_name)
        graph.producer_version = text(proto.producer_version)
        graph.ir_version = int(proto.ir_version)
        return graph

    def graph(self, proto: onnx.GraphProto, outer: Scope | None, in_model: bool = True) -> Graph:
        """A graph or subgraph."""
        graph: Graph = _new(Graph)
        records = Records()
        scope = Scope({}, outer)
        used_outputs: set[int] = set()
        self._initializers(proto, scope, records, hide=self.hides_defaults and outer is None and in_model)
        graph.inputs = self._inputs(proto.input, scope, records)
        protos = list(proto.node)
        self._declare_outputs(protos, scope)
        graph.nodes = [self.node(item, scope) for item in protos]
        self._infos(proto.output, scope, records.outputs, declare=True)
        graph.outputs = [entry.tensor for entry in records.outputs]
        used_outputs.update(id(tensor) for tensor in graph.outputs)
        self._infos(proto.value_info, scope, records.value_info)
        records.initializers = self._with_uses(records.initializers, used_outputs)
        records.sparse = self._with_uses(records.sparse, used_outputs)
        for entry in proto.quantization_annotation:
            parameters = tuple(scope.find(p.value) for p in entry.quant_parameter_tensor_names)
            records.annotations.append(Annotation(scope.find(entry.tensor_name), entry, parameters))
        self._finish(graph, text(proto.name), records)
        for field_name in (
            "node",
            "initializer",
            "sparse_initializer",
            "input",
            "output",
            "value_info",
            "quantization_annotation",
        ):
            proto.ClearField(field_name)
        graph._g = proto
        return graph

    def _finish(self, graph: Graph, name: str, records: Records) -> None:
        graph.name = name
        graph._records = records
        graph.opset = self.opset
        graph.import_domains = None
        graph.producer_name = graph.producer_version = ""
        graph.ir_version = None
        graph.name_idx = 0
        graph._functions = self.functions

    def _function(self, proto: onnx.FunctionProto) -> Function:
        outer_opset, self.opset = self.opset, default_opset(proto.opset_import) or self.opset
        function: Function = _new(Function)
        records, scope = Records(), Scope()
        inputs = [text(name) for name in proto.input]
        for name in inputs:
            scope.names.setdefault(name, make_variable(name))
        protos = list(proto.node)
        self._declare_outputs(protos, scope)
        function.inputs = [scope.names[name] for name in inputs]
        function.nodes = [self.node(item, scope) for item in protos]
        function.outputs = [self._value(name, scope) for name in proto.output]
        self._infos(proto.value_info, scope, records.value_info)
        self._finish(function, text(proto.name), records)
        function.import_domains = [copy_of(entry) for entry in proto.opset_import]
        function.domain = standard(text(proto.domain))
        if proto.overload:
            function.overload = text(proto.overload)
        function.attrs = {text(name): None for name in proto.attribute}
        for item in proto.attribute_proto:
            function.attrs[text(item.name)] = import_attribute(item, self, None)
        proto.ClearField("node")
        proto.ClearField("value_info")
        function._f = proto
        self.opset = outer_opset
        return function

    def _initializers(self, proto: onnx.GraphProto, scope: Scope, records: Records, hide: bool) -> None:
        defaults = set() if not proto.input else {entry.name for entry in proto.input}
        names = scope.names
        entries: list[tuple[Any, Any, list[Initializer], Any]] = [
            (item, item.name, records.initializers, Weight) for item in proto.initializer
        ]
        entries += [(item, item.values.name, records.sparse, SparseWeight) for item in proto.sparse_initializer]
        for item, raw_name, target, kind in entries:
            weight = kind(item, self.store)
            tensor = names.get(raw_name)
            primary = tensor is None
            if tensor is None:
                name = self._named(raw_name, "initializer")
                if raw_name in defaults and not hide:
                    tensor = make_variable(name)
                    _set(tensor, "default", weight)
                else:
                    tensor = make_constant(name, weight)
                if name:
                    names[raw_name] = names[name] = tensor
            else:
                self.note(
                    "duplicate-name",
                    f"initializer {text(raw_name)!r}",
                    "two initializers have this name; the first one counts",
                )
            target.append(Initializer(tensor, item, weight, True, primary))

    def _inputs(self, protos: Any, scope: Scope, records: Records) -> list[Any]:
        self._infos(protos, scope, records.inputs, declare=True, local=True)
        return [entry.tensor for entry in records.inputs if isinstance(entry.tensor, Variable)]

    def _infos(
        self, protos: Any, scope: Scope, target: list[Listed], declare: bool = False, local: bool = False
    ) -> None:
        names = scope.names
        for item in protos:
            tensor = names.get(item.name)
            if tensor is None and not local:
                tensor = scope.find(item.name)
                if tensor is not None:
                    target.append(Listed(tensor, item))
                    continue
            if tensor is None:
                if not declare:
                    target.append(Listed(None, item))
                    continue
                tensor = self._declare(item.name, scope, "value")
            dtype, shape, kind = read_type(item.type) if item.HasField("type") else (None, None, None)
            origin = tensor._t
            if origin is not None:
                dtype = dtype if origin.dtype is None else origin.dtype
                shape = shape if origin.shape is None else origin.shape
                kind = kind if origin.type is None else origin.type
            if isinstance(tensor, Variable):
                _set(tensor, "dtype", dtype)
                _set(tensor, "shape", None if shape is None else list(shape))
                _set(tensor, "type", kind)
            first = item if origin is None else origin.proto
            _set(tensor, "_t", Origin(tensor.name, dtype, shape, kind, first))
            target.append(Listed(tensor, item))

    def _declare_outputs(self, protos: list[Any], scope: Scope) -> None:
        names = scope.names
        for item in protos:
            for name in item.output:
                if name and name not in names:
                    self._declare(name, scope, "value")

    def _declare(self, name: str | bytes, scope: Scope, kind: str) -> Variable:
        decoded = self._named(name, kind)
        tensor = make_variable(decoded)
        if name:
            scope.names[name] = scope.names[decoded] = tensor
        return tensor

    def _named(self, name: str | bytes, kind: str) -> str:
        if type(name) is str:
            return name
        decoded = text(name)
        if not is_utf8(decoded):
            self.note("name-not-utf8", f"{kind} {decoded!r}", "the name is not UTF-8; it is kept as it is")
        return decoded

    def note(self, code: str, where: str, message: str) -> None:
        self.notes.append(Note(code, where, message))

    def _value(self, name: str | bytes, scope: Scope) -> Any:
        if not name:
            return make_variable("")
        tensor = scope.find(name)
        if tensor is None:
            tensor = self._declare(name, scope, "value")
            self.note("dangling-value", f"value {tensor.name!r}", "nothing produces it: no node, input or initializer")
        return tensor

    def node(self, proto: onnx.NodeProto, scope: Scope) -> Node:
        """A node, linked to the tensors its names mean in `scope`."""
        node: Node = _new(Node)
        _set(node, "op", text(proto.op_type))
        _set(node, "name", text(proto.name))
        _set(node, "domain", standard(text(proto.domain)))
        _set(node, "_o", proto)
        inputs, outputs = links(node, "outputs"), links(node, "inputs")
        _set(node, "inputs", inputs)
        _set(node, "outputs", outputs)
        local, append = scope.names, list.append
        for name in proto.input:
            tensor = local.get(name)
            if tensor is None:
                tensor = self._value(name, scope)
            append(inputs, tensor)
            append(tensor.outputs, node)
        for name in proto.output:
            tensor = local[name] if name else make_variable("")
            append(outputs, tensor)
            append(tensor.inputs, node)
        attrs: dict[str, Any] = {}
        for item in proto.attribute:
            name = text(item.name)
            if name in attrs:
                attrs[name] = import_attribute(item, self, scope, attrs[name], proto)
            else:
                attrs[name] = import_attribute(item, self, scope)
        _set(node, "attrs", attrs)
        if proto.overload:
            _set(node, "overload", text(proto.overload))
        return node

    @staticmethod
    def _with_uses(entries: list[Initializer], outputs: set[int]) -> list[Initializer]:
        return [
            entry if entry.tensor.outputs or id(entry.tensor) in outputs else entry._replace(used=False)
            for entry in entries
        ]


def links(owner: Any, field_name: str) -> Links:
    made: Links = Links.__new__(Links)
    made.parent_obj = owner
    made.field_name = field_name
    return made


def make_variable(name: str) -> Variable:
    """A Variable nothing is known of yet."""
    tensor: Variable = _new(Variable)
    _set(tensor, "name", name)
    _set(tensor, "inputs", links(tensor, "outputs"))
    _set(tensor, "outputs", links(tensor, "inputs"))
    _set(tensor, "dtype", None)
    _set(tensor, "shape", None)
    _set(tensor, "type", "tensor_type")
    return tensor


def make_constant(name: str, weight: Weight) -> Constant:
    """A Constant as it came from a file."""
    tensor: Constant = _new(Constant)
    _set(tensor, "name", name)
    _set(tensor, "inputs", links(tensor, "outputs"))
    _set(tensor, "outputs", links(tensor, "inputs"))
    _set(tensor, "_values", weight)
    _set(tensor, "_src", weight)
    _set(tensor, "data_location", None)
    _set(tensor, "_export_dtype", None)
    return tensor


def standard(domain: str) -> str:
    """The domain as the graph says it: "" for both spellings of the default one."""
    return "" if domain == "ai.onnx" else domain


def default_opset(entries: Any) -> int:
    """The version of the default domain, 0 if it is not imported; the newest if it is imported twice."""
    return max((int(entry.version) for entry in entries if standard(text(entry.domain)) == ""), default=0)
