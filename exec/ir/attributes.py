"""AttributeProto ⇄ the values in `Node.attrs`."""

from __future__ import annotations

import array
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx_graphsurgeon as gs
from onnx_graphsurgeon.util import misc

from exec import dtypes
from exec.errors import InvalidModel
from exec.ir.elements import make_constant
from exec.ir.names import set_text, text, to_bytes
from exec.ir.opaque import Opaque
from exec.ir.opsets import schema_of
from exec.ir.tensorcheck import check_sparse, check_tensor
from exec.ir.tensors import in_attributes
from exec.ir.weights import Weight

if TYPE_CHECKING:
    from exec.ir.importer import Importer, Scope

A = onnx.AttributeProto
FIELDS: dict[int, str] = {
    A.FLOAT: "f", A.INT: "i", A.STRING: "s", A.TENSOR: "t", A.GRAPH: "g", A.SPARSE_TENSOR: "sparse_tensor", A.TYPE_PROTO: "tp",
    A.FLOATS: "floats", A.INTS: "ints", A.STRINGS: "strings", A.TENSORS: "tensors", A.GRAPHS: "graphs",
    A.SPARSE_TENSORS: "sparse_tensors", A.TYPE_PROTOS: "type_protos",
}  # fmt: skip
_VALUE_FIELDS = frozenset(FIELDS.values())
_FLOAT, _INT, _STRING, _TENSOR, _GRAPH = A.FLOAT, A.INT, A.STRING, A.TENSOR, A.GRAPH
_FLOATS, _INTS, _STRINGS = A.FLOATS, A.INTS, A.STRINGS


def import_attribute(proto: Any, importer: Importer, scope: Scope | None, earlier: Any = None, node: Any = None) -> Any:
    """The Python value of an attribute; `earlier` is the value of one of the same name before it in `node`."""
    value = _value_of(proto, importer, scope, earlier, node)
    if importer.checks and isinstance(value, Opaque):
        place = f"attribute {text(proto.name)!r}"
        if value.kind == "SPARSE_TENSOR":
            check_sparse(proto.sparse_tensor, importer.store, importer.findings, place)
            return value
        for sparse in proto.sparse_tensors:
            check_sparse(sparse, importer.store, importer.findings, place)
        for tensor, _ in in_attributes([proto]):
            check_tensor(tensor, importer.store, importer.findings, f"{place}: tensor")
    return value


def _value_of(proto: Any, importer: Importer, scope: Scope | None, earlier: Any, node: Any) -> Any:
    if earlier is not None:
        return Opaque([item for item in node.attribute if item.name == proto.name], importer.store)
    kind = proto.type
    if proto.ref_attr_name:
        return gs.Node.AttributeRef(text(proto.ref_attr_name), _reference_type(kind))
    value: Any
    if kind == _INT:
        value = proto.i
    elif kind == _INTS:
        value = list(proto.ints)
    elif kind == _FLOAT:
        value = proto.f
    elif kind == _STRING:
        value = text(proto.s)
    elif kind == _TENSOR:
        if not proto.HasField("t"):
            return Opaque([proto], importer.store)
        if importer.checks:
            check_tensor(proto.t, importer.store, importer.findings, f"attribute {text(proto.name)!r}: tensor")
        return make_constant(text(proto.t.name), Weight(proto.t, importer.store))
    elif kind == _GRAPH:
        if not proto.HasField("g") or scope is None:
            return Opaque([proto], importer.store)
        return importer.graph(proto.g, scope)
    elif kind == _FLOATS:
        value = list(proto.floats)
    elif kind == _STRINGS:
        value = [text(item) for item in proto.strings]
    else:
        return Opaque([proto], importer.store)
    if not value and any(entry.name in _VALUE_FIELDS and entry.name != FIELDS[kind] for entry, _ in proto.ListFields()):
        # The type names a field that is empty while another is filled: reading it would be a made-up zero.
        return Opaque([proto], importer.store)
    return value


def unchanged(value: Any, proto: Any) -> bool:
    """Whether a value in `attrs` still is what the attribute says. Not for graphs, whose contents may differ."""
    kind = proto.type
    if proto.ref_attr_name:
        return (
            isinstance(value, gs.Node.AttributeRef)
            and value.name == text(proto.ref_attr_name)
            and value.type == _reference_type(kind)
        )
    if kind == _INT:
        return type(value) is int and value == proto.i
    if kind == _INTS:
        return isinstance(value, list) and value == proto.ints and all(type(item) is int for item in value)
    if kind == _FLOAT:
        return type(value) is float and same_float(value, proto.f)
    if kind == _STRING:
        return (isinstance(value, str) and to_bytes(value) == proto.s) or (
            isinstance(value, bytes) and value == proto.s
        )
    if kind == _TENSOR and isinstance(value, gs.Constant):
        weight = value._values
        return (
            isinstance(weight, Weight)
            and weight.proto is proto.t
            and value.name == text(proto.t.name)
            and not _described(value)
        )
    if kind == _FLOATS:
        return isinstance(value, list) and same_floats(value, proto.floats)
    if kind == _STRINGS:
        return isinstance(value, list) and [as_bytes(item) for item in value] == list(proto.strings)
    if isinstance(value, Opaque):
        return value._protos[0] is proto
    return False


def _reference_type(kind: int) -> Any:
    """graphsurgeon's name for an attribute type: `float`, `list[int]`, `Tensor`."""
    return misc.convert_from_onnx_attr_type(kind)


def _described(value: Any) -> bool:
    return getattr(value, "_metadata", None) is not None or getattr(value, "_doc", None) is not None


def same_float(a: float, b: float) -> bool:
    """Equal down to the sign of zero; NaN equals NaN."""
    return (a == b and math.copysign(1.0, a) == math.copysign(1.0, b)) or (a != a and b != b)


def same_floats(values: list[Any], stored: Any) -> bool:
    if len(values) != len(stored):
        return False
    try:
        return array.array("f", values).tobytes() == array.array("f", stored).tobytes()
    except (TypeError, OverflowError):
        return False


def as_bytes(item: Any) -> Any:
    return to_bytes(item) if isinstance(item, str) else item


@lru_cache(maxsize=4096)
def schema_types(op: str, domain: str, opset: int) -> dict[str, int]:
    """Attribute name → AttributeProto type, from the specification; empty where it does not know the op."""
    schema = schema_of(op, opset, domain)
    if schema is None:
        return {}
    attributes: dict[str, Any] = dict(schema.attributes)
    return {name: int(attribute.type.value) for name, attribute in attributes.items()}


def kind_of(value: Any, wanted: int | None, where: str) -> int:
    """The attribute type for a Python value: the wanted one where the value fits it."""
    natural = _natural_kind(value, where)
    if wanted is None or wanted == natural:
        return natural
    if natural == _INT and wanted == _FLOAT:
        return wanted
    if isinstance(value, list | tuple) and (not value or (natural == _INTS and wanted == _FLOATS)):
        return wanted
    if isinstance(value, gs.Node.AttributeRef):
        return natural
    if natural == _FLOAT and wanted == _INT and float(value).is_integer():
        return wanted
    if isinstance(value, np.ndarray) and wanted in (_INTS, _FLOATS):
        return wanted
    return natural


def _natural_kind(value: Any, where: str) -> int:
    if isinstance(value, bool | int | np.integer | np.bool_):
        return int(_INT)
    if isinstance(value, float | np.floating):
        return int(_FLOAT)
    if isinstance(value, str | bytes):
        return int(_STRING)
    if isinstance(value, gs.Tensor | np.ndarray | Weight | onnx.TensorProto):
        return int(_TENSOR)
    if isinstance(value, gs.Graph | onnx.GraphProto):
        return int(_GRAPH)
    if isinstance(value, onnx.TypeProto):
        return int(A.TYPE_PROTO)
    if isinstance(value, onnx.SparseTensorProto):
        return int(A.SPARSE_TENSOR)
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return int(_INT)
    if isinstance(value, gs.Node.AttributeRef):
        return int(misc.convert_to_onnx_attr_type(value.type))
    if isinstance(value, list | tuple):
        kinds = {_natural_kind(item, where) for item in value}
        if kinds <= {_INT}:
            return int(_INTS)
        if kinds <= {_INT, _FLOAT}:
            return int(_FLOATS)
        if kinds == {_STRING}:
            return int(_STRINGS)
        if kinds == {_TENSOR}:
            return int(A.TENSORS)
        if kinds == {_GRAPH}:
            return int(A.GRAPHS)
    raise InvalidModel(f"an attribute cannot hold {type(value).__name__}", where)


def write_plain(proto: Any, kind: int, value: Any, where: str) -> None:
    """Set the value field of an attribute whose kind is a number, a string or a list of those."""
    field = FIELDS[kind]
    try:
        if kind == _INT:
            proto.i = dtypes.onnx_code(value) if isinstance(value, np.dtype | type) else int(value)
        elif kind == _FLOAT:
            proto.f = float(value)
        elif kind == _STRING:
            proto.s = as_bytes(value)
        elif kind == _INTS:
            proto.ints[:] = [int(item) for item in value]
        elif kind == _FLOATS:
            proto.floats[:] = [float(item) for item in value]
        elif kind == _STRINGS:
            proto.strings[:] = [as_bytes(item) for item in value]
        else:
            raise InvalidModel(f"{field} attributes are not written here", where)
    except (ValueError, OverflowError) as error:
        raise InvalidModel(f"{value!r} is out of range for an attribute", where, str(error)) from error


def set_reference(proto: Any, value: Any, kind: int) -> None:
    """Make an attribute a reference to one of the surrounding function's attributes."""
    for name in _VALUE_FIELDS:
        proto.ClearField(name)
    proto.type = kind
    set_text(proto, "ref_attr_name", value.name)
