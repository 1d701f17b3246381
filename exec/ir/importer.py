"""ModelProto → graph: own code, because graphsurgeon's drops fields, renames in the caller's proto and disconnects captures.

Two phases per graph: every local name is declared (initializers, inputs, node outputs), then nodes are linked. A name that is
not local is looked up in the outer scopes; one that is nowhere becomes a local Variable and an error to report.

The message handed in is taken apart: its lists move into the graph's records, what is left stays attached as the shell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exec.errors import BudgetExceeded
from exec.ir.attributes import import_attribute
from exec.ir.elements import links, make_constant, make_variable
from exec.ir.graph import Function, Graph
from exec.ir.names import copy_of, is_utf8, text
from exec.ir.node import Node
from exec.ir.notes import Findings
from exec.ir.opsets import default_opset, standard
from exec.ir.records import Annotation, Initializer, Listed, Origin, Records
from exec.ir.sorting import find_cycle
from exec.ir.store import Store
from exec.ir.tensor import Variable
from exec.ir.tensorcheck import check_sparse, check_tensor
from exec.ir.tensors import in_training
from exec.ir.typecheck import check_type
from exec.ir.valuetypes import read_type
from exec.ir.weights import SparseWeight, Weight

if TYPE_CHECKING:
    import onnx

_new, _set = object.__new__, object.__setattr__
_LISTS = ("node", "initializer", "sparse_initializer", "input", "output", "value_info", "quantization_annotation")


@dataclass(slots=True)
class Scope:
    """The names of one graph and of those around it.

    place    how messages name the graph
    sources  names that have a value before any node runs
    late     a node reads what a node behind it makes
    """

    place: str
    outer: Scope | None = None
    names: dict[str | bytes, Any] = field(default_factory=dict)
    sources: set[str | bytes] = field(default_factory=set)
    late: bool = False

    def find(self, name: str | bytes, is_read: bool = False) -> Any:
        """The tensor a name means here, or None; `is_read` if a node being linked reads it."""
        scope: Scope | None = self
        while scope is not None:
            tensor = scope.names.get(name)
            if tensor is not None:
                if is_read and not tensor.inputs and name not in scope.sources:
                    scope.late = True
                return tensor
            scope = scope.outer
        return None


MOST_FUNCTIONS = 100_000
"""What is read of a file: the largest exports have some thousand."""


class Importer:
    """One import: what all graphs of a model share.

    findings  what is odd or wrong; None for a model of our own making, which is not checked again
    """

    def __init__(self, store: Store, findings: Findings | None) -> None:
        self.store = store
        self.checks = findings is not None
        self.findings = Findings() if findings is None else findings
        self.functions: list[Function] = []
        self.opset = 0
        self.hides_defaults = False

    def model(self, proto: onnx.ModelProto) -> Graph:
        """The graph of `proto`, which is left as the shell: without graph and functions."""
        domains = list(proto.opset_import)
        self.opset = default_opset(domains) or 1
        self.hides_defaults = proto.ir_version < 4
        if self.checks and len(proto.functions) > MOST_FUNCTIONS:  # a function of nothing takes three bytes of a file
            raise BudgetExceeded(
                f"it has {len(proto.functions):,} functions",
                why=f"{MOST_FUNCTIONS:,} are read",
                hint="let the exporter inline them",
            )
        for item in list(proto.functions):
            self.functions.append(self._function(item))
        proto.ClearField("functions")
        if self.checks:
            for tensor, _ in in_training(proto):
                check_tensor(tensor, self.store, self.findings, "training information: tensor")
        message = proto.graph
        graph = self.graph(message, None)
        proto.ClearField("graph")
        graph.import_domains = [copy_of(entry) for entry in domains]
        graph.producer_name = text(proto.producer_name)
        graph.producer_version = text(proto.producer_version)
        graph.ir_version = int(proto.ir_version)
        return graph

    def graph(self, proto: onnx.GraphProto, outer: Scope | None) -> Graph:
        """A graph or subgraph."""
        graph: Graph = _new(Graph)
        records = Records()
        scope = Scope(f"graph {text(proto.name)!r}", outer)
        self._initializers(proto, scope, records, hide=self.hides_defaults and outer is None)
        self._infos(proto.input, scope, records.inputs, declare="input")
        graph.inputs = [entry.tensor for entry in records.inputs if isinstance(entry.tensor, Variable)]
        if self.checks:
            self._check_defaults(proto)
        scope.sources.update(scope.names)
        protos = list(proto.node)
        self._declare_outputs(protos, scope)
        graph.nodes = [self.node(item, scope) for item in protos]
        self._infos(proto.output, scope, records.outputs, declare="output")
        graph.outputs = [entry.tensor for entry in records.outputs]
        self._infos(proto.value_info, scope, records.value_info)
        kept = {id(tensor) for tensor in graph.outputs}
        records.initializers = _with_uses(records.initializers, kept)
        records.sparse = _with_uses(records.sparse, kept)
        for entry in proto.quantization_annotation:
            parameters = tuple(scope.find(item.value) for item in entry.quant_parameter_tensor_names)
            tensor = scope.names.get(entry.tensor_name)
            about = scope.find(entry.tensor_name) if tensor is None else tensor
            records.annotations.append(Annotation(about, entry, parameters, is_outer=tensor is None))
        self._finish(graph, text(proto.name), records, scope)
        for name in _LISTS:
            proto.ClearField(name)
        graph._g = proto
        return graph

    def _finish(self, graph: Graph, name: str, records: Records, scope: Scope) -> None:
        graph.name = name
        graph._records = records
        graph.opset = graph._imported_opset = self.opset
        graph.import_domains = None
        graph.producer_name = graph.producer_version = ""
        graph.ir_version = None
        graph.name_idx = 0
        graph._functions = self.functions
        if scope.late and self.checks:
            stuck = find_cycle(graph)
            if stuck is not None:
                where = f"node {stuck.name or stuck.op!r} in {scope.place}"
                self.findings.error("cycle", where, "it needs its own output")
            else:
                self.findings.note("unsorted", scope.place, "nodes stand before nodes they read from")

    def _function(self, proto: onnx.FunctionProto) -> Function:
        outer_opset, self.opset = self.opset, default_opset(proto.opset_import) or self.opset
        function: Function = _new(Function)
        records, scope = Records(), Scope(f"function {text(proto.name)!r}")
        inputs = [text(name) for name in proto.input]
        for name in inputs:
            if name in scope.names:
                self.findings.error("duplicate-name", scope.place, f"two of its inputs are called {name!r}")
            scope.names.setdefault(name, make_variable(name))
        scope.sources.update(scope.names)
        protos = list(proto.node)
        self._declare_outputs(protos, scope)
        function.inputs = [scope.names[name] for name in inputs]
        function.nodes = [self.node(item, scope) for item in protos]
        function.outputs = [self._value(name, scope) for name in proto.output]
        if len(set(proto.output)) < len(proto.output):
            self.findings.error("duplicate-name", scope.place, "two of its outputs have one name")
        if not proto.name:
            self.findings.error("unnamed-function", scope.place, "one of the functions has no name")
        self._infos(proto.value_info, scope, records.value_info)
        self._finish(function, text(proto.name), records, scope)
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
        names, checks = scope.names, self.checks
        entries: list[tuple[Any, Any, list[Initializer]]] = [
            (item, item.name, records.initializers) for item in proto.initializer
        ]
        entries += [(item, item.values.name, records.sparse) for item in proto.sparse_initializer]
        for item, raw_name, target in entries:
            is_dense = target is records.initializers
            weight = Weight(item, self.store) if is_dense else SparseWeight(item, self.store)
            if checks:
                if is_dense:
                    check_tensor(item, self.store, self.findings, "initializer")
                else:
                    check_sparse(item, self.store, self.findings)
                if not raw_name:
                    self.findings.error("unnamed-initializer", scope.place, "one of its initializers has no name")
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
                    self._check_shadow(name, scope)
            else:
                self.findings.error(
                    "duplicate-name", f"initializer {text(raw_name)!r}", "two initializers have this name"
                )
            target.append(Initializer(tensor, item, weight, True, primary))

    def _check_defaults(self, proto: onnx.GraphProto) -> None:
        """Find inputs that say another element type than their own default."""
        if not proto.input or not proto.initializer:
            return
        types = {item.name: item.data_type for item in proto.initializer}
        for item in proto.input:
            declared, given = item.type.tensor_type.elem_type, types.get(item.name)
            if declared and given and declared != given:
                what = "its element type is not that of the initializer that is its default"
                self.findings.error("default-type", f"input {text(item.name)!r}", what)

    def _infos(self, protos: Any, scope: Scope, target: list[Listed], declare: str = "") -> None:
        """Resolve a list of ValueInfoProtos; names nothing has are declared if `declare` says what they are."""
        names = scope.names
        taken: set[int] = {id(entry.tensor) for entry in target} if declare == "input" else set()
        for item in protos:
            if declare and not item.name:
                self.findings.error("unnamed-value", scope.place, f"one of its {declare}s has no name")
            tensor = names.get(item.name)
            if tensor is None and declare != "input":
                tensor = scope.find(item.name)
                if tensor is not None:
                    target.append(Listed(tensor, item, is_outer=True))
                    continue
            if tensor is None:
                if not declare:
                    target.append(Listed(None, item))
                    continue
                tensor = self._declare(item.name, scope, declare)
                if declare == "output":
                    self.findings.error(
                        "dangling-value", f"output {tensor.name!r} of {scope.place}", "nothing produces it"
                    )
            elif id(tensor) in taken:
                self.findings.error(
                    "duplicate-name", f"input {tensor.name!r}", f"two inputs of {scope.place} have this name"
                )
            if self.checks:
                check_type(
                    item.type, f"{declare or 'value'} {tensor.name!r}", self.findings, is_input=declare == "input" and scope.outer is None
                )  # fmt: skip
            self._describe(tensor, item)
            target.append(Listed(tensor, item))
            if declare == "input":
                taken.add(id(tensor))

    @staticmethod
    def _describe(tensor: Any, item: onnx.ValueInfoProto) -> None:
        """Take over what a ValueInfoProto says; where two speak of one tensor, what the first leaves open."""
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
        _set(tensor, "_t", Origin(tensor.name, dtype, shape, kind, item if origin is None else origin.proto))

    def _declare_outputs(self, protos: list[Any], scope: Scope) -> None:
        names = scope.names
        for item in protos:
            for name in item.output:
                if not name:
                    continue
                if name not in names:
                    if type(name) is str and scope.outer is None:
                        names[name] = make_variable(name)
                    else:
                        self._declare(name, scope, "value")
                else:
                    what = (
                        "an input or initializer has this name, too"
                        if name in scope.sources
                        else "two nodes produce it"
                    )
                    self.findings.error(
                        "duplicate-name", f"value {text(name)!r} of node {text(item.name) or item.op_type!r}", what
                    )

    def _declare(self, name: str | bytes, scope: Scope, kind: str) -> Variable:
        decoded = self._named(name, kind)
        tensor = make_variable(decoded)
        if name:
            scope.names[name] = scope.names[decoded] = tensor
            self._check_shadow(decoded, scope)
        return tensor

    def _check_shadow(self, name: str, scope: Scope) -> None:
        """Find a name that hides one of an outer graph; what a node further on makes is not visible here."""
        outer = scope.outer
        while outer is not None:
            hidden = outer.names.get(name)
            if hidden is not None and (hidden.inputs or name in outer.sources):
                self.findings.error(
                    "shadowed-name",
                    f"value {name!r} of {scope.place}",
                    f"{outer.place} around it has a value of this name",
                )
            outer = outer.outer

    def _named(self, name: str | bytes, kind: str) -> str:
        if type(name) is str:
            return name
        decoded = text(name)
        if not is_utf8(decoded):
            self.findings.error("name-not-utf8", f"{kind} {decoded!r}", "its name is not UTF-8")
        return decoded

    def _value(self, name: str | bytes, scope: Scope) -> Any:
        if not name:
            return make_variable("")
        tensor = scope.find(name, is_read=True)
        if tensor is None:
            tensor = self._declare(name, scope, "value")
            self.findings.error(
                "dangling-value",
                f"value {tensor.name!r} in {scope.place}",
                "nothing produces it: no node, input or initializer",
            )
        return tensor

    def node(self, proto: onnx.NodeProto, scope: Scope) -> Node:
        """A node, linked to the tensors its names mean in `scope`."""
        node: Node = _new(Node)
        _set(node, "op", self._named(proto.op_type, "op type"))
        _set(node, "name", self._named(proto.name, "node"))
        _set(node, "domain", standard(text(proto.domain)))
        _set(node, "_o", proto)
        inputs, outputs = links(node, "outputs"), links(node, "inputs")
        _set(node, "inputs", inputs)
        _set(node, "outputs", outputs)
        # A list that is extended takes room for what it gets, one that is appended to for four: 6 MB of 100,000 nodes.
        local, sources, append, extend, this = scope.names, scope.sources, list.append, list.extend, (node,)
        read: list[Any] = []
        for name in proto.input:
            tensor = local.get(name)
            if tensor is None:
                tensor = self._value(name, scope)
            elif not tensor.inputs and name not in sources:
                scope.late = True
            append(read, tensor)
            readers = tensor.outputs
            if readers:
                append(readers, node)
            else:
                extend(readers, this)
        extend(inputs, read)
        # Before the outputs are linked: a subgraph that reads them is a cycle, and seen as reading what is not there yet.
        attrs: dict[str, Any] = {}
        for item in proto.attribute:
            name = text(item.name)
            if name in attrs:
                attrs[name] = import_attribute(item, self, scope, attrs[name], proto)
            else:
                attrs[name] = import_attribute(item, self, scope)
        _set(node, "attrs", attrs)
        for name in proto.output:
            tensor = local[name] if name else make_variable("")
            extend(outputs, (tensor,))
            extend(tensor.inputs, this)
        if proto.overload:
            _set(node, "overload", text(proto.overload))
        return node


def _with_uses(entries: list[Initializer], outputs: set[int]) -> list[Initializer]:
    return [
        entry if entry.tensor.outputs or id(entry.tensor) in outputs else entry._replace(used=False)
        for entry in entries
    ]
