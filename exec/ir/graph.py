"""The graph: graphsurgeon's classes, compared by identity, each with the proto it came from beside it.

The attached proto is the element's snapshot: an export compares the modelled fields with it and rewrites only what differs,
so whatever this model of a graph cannot say (metadata, denotations, unknown fields) stays with its element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import onnx_graphsurgeon as gs

from exec.arrays import Array
from exec.ir.links import Links
from exec.ir.surgeon import Surgeon
from exec.ir.weights import Weight

if TYPE_CHECKING:
    import onnx

    from exec.ir.records import Origin, Records

_new, _set = object.__new__, object.__setattr__


class Described:
    """Metadata and a doc string, read from the attached proto until somebody asks for them."""

    _metadata: dict[str, str] | None = None
    _doc: str | None = None

    def _proto(self) -> Any:
        return None

    @property
    def metadata(self) -> dict[str, str]:
        """The `metadata_props`, to read and to change. Of keys that occur twice in a file, the last value."""
        if self._metadata is None:
            proto = self._proto()
            _set(self, "_metadata", {} if proto is None else {e.key: e.value for e in proto.metadata_props})
        assert self._metadata is not None
        return self._metadata

    @metadata.setter
    def metadata(self, entries: dict[str, str]) -> None:
        _set(self, "_metadata", dict(entries))

    @property
    def doc_string(self) -> str:
        if self._doc is not None:
            return self._doc
        proto = self._proto()
        return "" if proto is None else proto.doc_string

    @doc_string.setter
    def doc_string(self, text: str) -> None:
        _set(self, "_doc", text)


class Opaque:
    """An attribute value graphsurgeon has no word for: a list of tensors or graphs, a sparse tensor, a type, one without type.

    It can be seen, compared by bytes, moved to another node and deleted; it is exported as it came.
    """

    __slots__ = ("_protos", "_store")

    def __init__(self, protos: Sequence[onnx.AttributeProto], store: Any = None) -> None:
        self._protos = tuple(protos)
        self._store = store

    @property
    def proto(self) -> onnx.AttributeProto:
        """A copy of the attribute, its weights filled in."""
        copy = type(self._protos[0])()
        copy.CopyFrom(self._protos[0])
        return copy if self._store is None else self._store.filled(copy)

    @property
    def kind(self) -> str:
        """The AttributeProto type: "TENSORS", "SPARSE_TENSOR", "TYPE_PROTO", "UNDEFINED"."""
        first = self._protos[0]
        return str(first.AttributeType.Name(first.type))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and [p.SerializeToString(deterministic=True) for p in self._protos] == [
            p.SerializeToString(deterministic=True) for p in other._protos
        ]

    def __hash__(self) -> int:
        return hash(self._protos[0].name)

    def __repr__(self) -> str:
        return f"Opaque({self.kind})"


class Node(Described, gs.Node):
    """One operation.

    domain    "" is ai.onnx, however the file spells it
    overload  which of several functions of the same name it calls
    """

    overload = ""
    _o: onnx.NodeProto | None = None

    def __init__(
        self,
        op: str,
        name: str | None = None,
        attrs: dict[str, Any] | None = None,
        inputs: Sequence[gs.Tensor] | None = None,
        outputs: Sequence[gs.Tensor] | None = None,
        domain: str | None = None,
    ) -> None:
        _set(self, "op", op)
        _set(self, "name", name or "")
        _set(self, "attrs", {} if attrs is None else attrs)
        _set(self, "inputs", Links(self, "outputs", inputs or ()))
        _set(self, "outputs", Links(self, "inputs", outputs or ()))
        _set(self, "domain", domain or "")

    def _proto(self) -> Any:
        return self._o

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __str__(self) -> str:
        inputs = ", ".join(t.name or "-" for t in self.inputs)
        outputs = ", ".join(t.name or "-" for t in self.outputs)
        return f"{outputs} = {self.domain + '::' if self.domain else ''}{self.op}({inputs})  {self.name}".rstrip()

    __repr__ = __str__

    def copy(
        self,
        inputs: Sequence[gs.Tensor] | None = None,
        outputs: Sequence[gs.Tensor] | None = None,
        tensor_map: Any = None,
    ) -> Node:
        """A node of the same op, attributes and metadata on other tensors; its subgraphs are shared."""
        twin = Node(self.op, self.name, dict(self.attrs), inputs, outputs, self.domain)
        twin.adopt(self)
        return twin

    def adopt(self, other: Node) -> None:
        """Take the fields of `other` that nobody models: doc string, metadata, device configurations, unknown fields."""
        _set(self, "_o", other._o)
        _set(self, "_doc", other._doc)
        _set(self, "_metadata", None if other._metadata is None else dict(other._metadata))
        if other.overload:
            _set(self, "overload", other.overload)


class Variable(Described, gs.Variable):
    """A value that exists only at run time.

    dtype    a numpy dtype, an int where the file names a type nobody knows, or None
    shape    None (unknown rank) or a list whose dims are an int, a str symbol or None
    type     "tensor_type", "sequence_type", "optional_type", "map_type", "sparse_tensor_type", "opaque_type" or None
    default  the Weight of an overridable initializer: an input that need not be fed
    """

    default: Weight | None = None
    _t: Origin | None = None

    def __init__(
        self,
        name: str,
        dtype: Any = None,
        shape: Sequence[int | str | None] | None = None,
        type: str | None = "tensor_type",
    ) -> None:
        _set(self, "name", name)
        _set(self, "inputs", Links(self, "outputs"))
        _set(self, "outputs", Links(self, "inputs"))
        _set(self, "dtype", dtype)
        _set(self, "shape", None if shape is None else list(shape))
        _set(self, "type", type)

    @staticmethod
    def empty() -> Variable:
        """A fresh place-holder for an optional input or output that is left out."""
        return Variable("")

    def _proto(self) -> Any:
        return None if self._t is None else self._t.proto

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __str__(self) -> str:
        from exec.dtypes import dtype_name

        dims = "?" if self.shape is None else ",".join("?" if d is None else str(d) for d in self.shape)
        return f"{self.name or '-'}: {dtype_name(self.dtype)}[{dims}]"

    __repr__ = __str__

    def to_constant(self, values: Array | Weight, data_location: Any = None, export_dtype: Any = None) -> Constant:
        """Become a Constant in place: every reader sees it."""
        self.__dict__.pop("default", None)
        for name in ("dtype", "shape", "type"):
            self.__dict__.pop(name, None)
        self.__class__ = Constant  # type: ignore[assignment]
        twin: Any = self
        twin._values = values
        twin.data_location = None
        twin._export_dtype = None
        assert isinstance(twin, Constant)
        return twin

    def copy(self) -> Variable:
        """The same value without its links."""
        twin = Variable(self.name, self.dtype, self.shape, self.type)
        _carry(self, twin)
        if self.default is not None:
            _set(twin, "default", self.default)
        return twin


class Constant(Described, gs.Constant):
    """A value that is known. Its array is read-only: a rewrite that changes a weight makes a new Constant."""

    _t: Origin | None = None
    _src: Weight | None = None

    def __init__(self, name: str, values: Array | Weight, data_location: Any = None, export_dtype: Any = None) -> None:
        _set(self, "name", name)
        _set(self, "inputs", Links(self, "outputs"))
        _set(self, "outputs", Links(self, "inputs"))
        _set(self, "_values", values)
        _set(self, "data_location", data_location)
        _set(self, "_export_dtype", export_dtype)

    def _proto(self) -> Any:
        return None if self._src is None else self._src.proto

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    @property
    def values(self) -> Array:
        """The array. Raises `ExternalDataError` where the bytes are in a file that is not there."""
        values = self._values
        return values.load() if isinstance(values, Weight) else values

    @values.setter
    def values(self, values: Array | Weight) -> None:
        _set(self, "_values", values)

    @property
    def shape(self) -> list[int]:
        return list(self._values.shape)

    @property
    def dtype(self) -> Any:
        return self._values.dtype

    @property
    def nbytes(self) -> int:
        """Bytes as stored in a file."""
        values = self._values
        if isinstance(values, Weight):
            return values.nbytes
        from exec.dtypes import BY_NUMPY

        row = BY_NUMPY.get(values.dtype)
        return int(values.nbytes) if row is None or row.bits == 0 else (int(values.size) * row.bits + 7) // 8

    def __str__(self) -> str:
        from exec.dtypes import dtype_name

        return f"{self.name}: constant {dtype_name(self.dtype)}[{','.join(map(str, self.shape))}]"

    __repr__ = __str__

    def to_variable(self, dtype: Any = None, shape: Sequence[int | str | None] | None = None) -> Variable:
        """Become a Variable in place: every reader sees it. Type and shape stay unless others are given."""
        dtype = self.dtype if dtype is None else dtype
        shape = list(self.shape if shape is None else shape)
        for name in ("_values", "_export_dtype", "data_location", "_src"):
            self.__dict__.pop(name, None)
        self.__class__ = Variable  # type: ignore[assignment]
        twin: Any = self
        twin.dtype, twin.shape, twin.type = dtype, shape, "tensor_type"
        assert isinstance(twin, Variable)
        return twin

    def copy(self) -> Constant:
        """The same weight without its links."""
        twin = Constant(self.name, self._values)
        _carry(self, twin)
        if self._src is not None:
            _set(twin, "_src", self._src)
        return twin


def _carry(source: Variable | Constant, target: Variable | Constant) -> None:
    if source._t is not None:
        _set(target, "_t", source._t)
    if source._metadata is not None:
        _set(target, "_metadata", dict(source._metadata))
    if source._doc is not None:
        _set(target, "_doc", source._doc)


Tensor = Variable | Constant


class Graph(Described, Surgeon, gs.Graph):
    """Nodes in order, inputs, outputs, and what the file says about them.

    opset           version of the default domain
    import_domains  the OperatorSetIdProtos, or None
    functions       the model's functions, one list shared by every graph of the model
    """

    _g: onnx.GraphProto | None = None
    _records: Records | None = None
    _imported_opset: int | None = None

    def __init__(
        self,
        nodes: Sequence[Node] | None = None,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        name: str | None = None,
        doc_string: str | None = None,
        opset: int | None = None,
        import_domains: Any = None,
        producer_name: str | None = None,
        producer_version: str | None = None,
        functions: list[Function] | None = None,
        ir_version: int | None = None,
    ) -> None:
        self.nodes = list(nodes or ())
        self.inputs = list(inputs or ())
        self.outputs = list(outputs or ())
        self.name = name or ""
        if doc_string is not None:
            _set(self, "_doc", doc_string)
        self.opset = gs.Graph.DEFAULT_OPSET if opset is None else opset
        self.import_domains = import_domains
        self.producer_name = producer_name or ""
        self.producer_version = producer_version or ""
        self.ir_version = ir_version
        self.name_idx = 0
        self._functions = functions if functions is not None else []

    def _proto(self) -> Any:
        return self._g

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __str__(self) -> str:
        return f"{type(self).__name__} {self.name}: {len(self.nodes)} nodes, opset {self.opset}"

    __repr__ = __str__

    def copy(self, tensor_map: Any = None) -> Graph:
        """A copy with everything attached, that shares the weights."""
        from exec.ir.copying import copy_graph

        return copy_graph(self)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)


class Function(Graph, gs.Function):
    """A model-local function; `key` is what a call names: (domain, name, overload)."""

    overload = ""
    _f: onnx.FunctionProto | None = None

    def __init__(
        self,
        name: str,
        domain: str | None = None,
        nodes: Sequence[Node] | None = None,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        doc_string: str | None = None,
        opset: int | None = None,
        import_domains: Any = None,
        functions: list[Function] | None = None,
        attrs: dict[str, Any] | None = None,
        ir_version: int | None = None,
    ) -> None:
        Graph.__init__(
            self, nodes, inputs, outputs, name, doc_string, opset, import_domains, None, None, functions, ir_version
        )
        self.domain = domain or ""
        self.attrs = {} if attrs is None else attrs

    def _proto(self) -> Any:
        return self._f

    @property
    def key(self) -> tuple[str, str, str]:
        return self.domain, self.name, self.overload

    def copy(self, tensor_map: Any = None) -> Function:
        """A copy with everything attached, that shares the weights."""
        from exec.ir.copying import copy_function

        return copy_function(self)
