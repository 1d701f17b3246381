"""Which constants a graph writes as initializers, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.numpy_helper
import onnx_graphsurgeon as gs
from onnx_graphsurgeon.ir.tensor import LazyValues

from exec import dtypes
from exec.arrays import Array
from exec.errors import InvalidModel
from exec.ir.described import describe
from exec.ir.names import copy_of, set_text, text, to_bytes
from exec.ir.records import Initializer, Records
from exec.ir.scope import uses_of
from exec.ir.tensor import Constant
from exec.ir.weights import SparseWeight, Weight

if TYPE_CHECKING:
    from exec.ir.exporter import Exporter

_DATA_FIELDS = (
    "raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data", "external_data",
    "data_location", "segment", "dims",
)  # fmt: skip


@dataclass(slots=True)
class Plan:
    """The initializers of one graph: kept records in the file's order, then new constants in order of use."""

    kept: list[Initializer] = field(default_factory=list)
    sparse: list[Initializer] = field(default_factory=list)
    new: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)


def plan(exporter: Exporter, graph: gs.Graph, records: Records, declared: Any) -> Plan:
    """Choose: what was unused in the file stays, what lost its last reader goes, what is new comes where all its readers see it."""
    direct, inner = uses_of(graph, exporter.uses)
    used: set[int] = set(direct)
    for part in inner:
        used.update(part)
    made = Plan()
    inputs = {id(tensor) for tensor in graph.inputs}

    def stays(entry: Initializer) -> bool:
        tensor = entry.tensor
        if exporter.protected and entry.weight.name in exporter.protected and tensor.name != entry.weight.name:
            raise InvalidModel(
                f"initializer {entry.weight.name!r} cannot be renamed to {tensor.name!r}",
                f"graph {graph.name!r}",
                "the model's training information names it",
            )
        if id(tensor) in declared:
            return False
        if isinstance(tensor, gs.Constant):
            if not entry.primary and not _has(tensor, tensor._src):
                return False
            return (
                id(tensor) in used or not entry.used or id(tensor) in inputs or text(tensor.name) in exporter.protected
            )
        return id(tensor) in inputs and (tensor.default is entry.weight or not entry.primary)

    made.kept = [entry for entry in records.initializers if stays(entry)]
    made.sparse = [entry for entry in records.sparse if stays(entry)]
    seen: set[int] = set(declared)
    for entry in (*made.kept, *made.sparse):
        if id(entry.tensor) not in seen:
            seen.add(id(entry.tensor))
            if isinstance(entry.tensor, gs.Constant):
                made.constants.append(entry.tensor)
    wanted = dict(direct)
    if len(inner) > 1:
        counts: dict[int, int] = {}
        for part in inner:
            for key in part:
                counts[key] = counts.get(key, 0) + 1
        for part in inner:
            wanted.update({key: tensor for key, tensor in part.items() if counts[key] > 1})
    made.new = [tensor for key, tensor in wanted.items() if key not in seen]
    made.constants += made.new
    return made


def write(exporter: Exporter, made: Plan, out: onnx.GraphProto) -> None:
    """Fill the graph's initializer lists."""
    for entry in made.kept:
        tensor = entry.tensor
        if isinstance(tensor, gs.Constant) and isinstance(tensor._values, SparseWeight):
            raise InvalidModel(
                f"{tensor.name!r} became sparse", f"initializer {tensor.name!r}", hint="make a new Constant for it"
            )
    out.initializer.extend([_kept(exporter, entry) for entry in made.kept])
    for entry in made.sparse:
        tensor = entry.tensor
        if entry.primary and isinstance(tensor, gs.Constant) and not _has(tensor, entry.weight):
            write_tensor(exporter, tensor, out.initializer.add())
            continue
        proto = entry.proto
        if tensor.name != text(proto.values.name):
            proto = copy_of(proto)
            set_text(proto.values, "name", tensor.name)
        out.sparse_initializer.append(proto)
    for tensor in made.new:
        if isinstance(tensor._values, SparseWeight):
            proto = tensor._values.tensor
            set_text(proto.values, "name", tensor.name)
            out.sparse_initializer.append(proto)
        else:
            write_tensor(exporter, tensor, out.initializer.add())


def _kept(exporter: Exporter, entry: Initializer) -> Any:
    proto, tensor = entry.proto, entry.tensor
    same = not entry.primary or not isinstance(tensor, gs.Constant) or _has(tensor, entry.weight)
    described = tensor._doc is not None or tensor._metadata is not None
    if same and tensor.name == proto.name and not described:
        return proto
    out = copy_of(proto)
    if not same:
        assert isinstance(tensor, gs.Constant)
        _write_values(exporter, tensor._values, out)
    return _name_and_describe(tensor, out)


def _has(tensor: Any, weight: Weight | None) -> bool:
    """Whether a Constant still has the values of `weight`, be it as the array that was read from it."""
    values = tensor._values
    return values is weight or (weight is not None and values is weight._array)


def _name_and_describe(tensor: Any, out: Any) -> Any:
    if tensor.name != text(out.name):
        set_text(out, "name", tensor.name)
    if isinstance(tensor, Constant):
        describe(tensor, out)
    return out


def write_tensor(exporter: Exporter, value: Any, out: onnx.TensorProto) -> None:
    """Fill a TensorProto from a Constant, a Weight, an array or another TensorProto."""
    if isinstance(value, onnx.TensorProto):
        out.CopyFrom(value)
        return
    if isinstance(value, gs.Constant):
        source = value._values
        if isinstance(source, Weight) and source is not getattr(value, "_src", None) and not out.HasField("name"):
            _write_values(exporter, source, out)
        elif isinstance(source, Weight):
            out.CopyFrom(source.proto)
            _take(exporter, source, out)
        else:
            origin = getattr(value, "_src", None)
            if origin is not None and not out.HasField("name"):
                out.CopyFrom(origin.proto)
            _write_values(exporter, source, out)
        _name_and_describe(value, out)
        return
    _write_values(exporter, value, out)


def _write_values(exporter: Exporter, values: Any, out: onnx.TensorProto) -> None:
    """Replace a TensorProto's data, keeping its name, doc string and metadata."""
    for name in _DATA_FIELDS:
        out.ClearField(name)
    if isinstance(values, Weight):
        source = copy_of(values.proto)
        for name in ("name", "doc_string", "metadata_props"):
            source.ClearField(name)
        out.MergeFrom(source)
        _take(exporter, values, out)
        return
    if isinstance(values, LazyValues):
        # graphsurgeon's own, from a graph it imported: it holds a whole TensorProto.
        values = onnx.numpy_helper.to_array(values.tensor)
    array: Array = np.asarray(values)
    if array.dtype.kind in "US":
        array = array.astype(object)
    row = dtypes.from_numpy(array.dtype)
    out.data_type = row.code
    out.dims.extend(array.shape)
    if row.code == 8:
        out.string_data.extend([to_bytes(item) if isinstance(item, str) else bytes(item) for item in array.reshape(-1)])
    else:
        out.raw_data = exporter.store.token(array, row, exporter.hold)


def _take(exporter: Exporter, weight: Weight, out: onnx.TensorProto) -> None:
    """Let `out`, a copy of a weight's proto, stand for the same bytes: those of another model are fetched from there."""
    if weight._store is exporter.store:
        return
    data = weight.raw()
    if data is None:
        return
    out.ClearField("external_data")
    out.ClearField("data_location")
    out.raw_data = exporter.store.raw_token(data, exporter.hold)
