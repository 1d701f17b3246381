"""ValueInfoProtos of a graph: inputs, outputs, value_info, and quantization annotations."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import onnx
import onnx_graphsurgeon as gs

from exec.ir.described import describe
from exec.ir.names import copy_of, set_text, text
from exec.ir.records import Annotation, Listed, Records
from exec.ir.valuetypes import Shape, patch_type, read_type, same_dim, same_dtype, write_type
from exec.ir.weights import Weight

_Type = tuple[Any, Shape, str | None]
_UNKNOWN: _Type = (None, None, None)


def inputs(
    current: list[Any], records: list[Listed], written: set[int], listed: Iterable[Any], drop_hidden: bool
) -> list[onnx.ValueInfoProto]:
    """The graph's inputs. Constants an old file (IR < 4) lists as inputs stay in their places, and new ones are added."""
    shown = {id(tensor) for tensor in current}
    hidden = [
        (at, entry)
        for at, entry in enumerate(records)
        if id(entry.tensor) not in shown and isinstance(entry.tensor, gs.Constant)
    ]
    hidden = [] if drop_hidden else [(at, entry) for at, entry in hidden if id(entry.tensor) in written]
    waiting = deque(hidden)
    position = {id(entry.tensor): at for at, entry in enumerate(records)}
    out: list[onnx.ValueInfoProto] = []
    for tensor, proto in zip(current, _matched(current, records), strict=True):
        while waiting and waiting[0][0] < position.get(id(tensor), -1):
            entry = waiting.popleft()[1]
            out.append(patched(entry.tensor, entry.proto))
        out.append(proto)
    out += [patched(entry.tensor, entry.proto) for _, entry in waiting]
    out += [made(tensor) for tensor in listed]
    return out


def outputs(current: list[Any], records: list[Listed]) -> list[onnx.ValueInfoProto]:
    return _matched(current, records)


def _matched(current: list[Any], records: list[Listed]) -> list[onnx.ValueInfoProto]:
    """Each tensor's proto: of the same object, else of a replaced object by name, else a new one."""
    by_id: dict[int, deque[Listed]] = {}
    for entry in records:
        by_id.setdefault(id(entry.tensor), deque()).append(entry)
    present = {id(tensor) for tensor in current}
    by_name = {text(entry.proto.name): entry.proto for entry in records if id(entry.tensor) not in present}
    out = []
    for tensor in current:
        queue = by_id.get(id(tensor))
        if queue:
            out.append(patched(tensor, queue.popleft().proto))
        elif tensor.name in by_name:
            out.append(patched(tensor, by_name[tensor.name], replaced=True))
        else:
            out.append(made(tensor))
    return out


def value_info(graph: gs.Graph, records: Records, alive: set[int]) -> list[onnx.ValueInfoProto]:
    """What is known of inner values: as the file has it, without those that are gone, with those that are new."""
    out = [
        entry.proto if entry.tensor is None else patched(entry.tensor, entry.proto)
        for entry in records.value_info
        if entry.tensor is None or entry.is_outer or id(entry.tensor) in alive
    ]
    said = {id(entry.tensor) for entry in records.value_info}
    said.update(id(tensor) for tensor in graph.inputs)
    said.update(id(tensor) for tensor in graph.outputs if not isinstance(graph, gs.Function))
    for node in graph.nodes:
        for tensor in node.outputs:
            if id(tensor) in said or not tensor.name or isinstance(tensor, gs.Constant):
                continue
            if tensor.dtype is not None or tensor.shape is not None or getattr(tensor, "_metadata", None):
                said.add(id(tensor))
                out.append(made(tensor))
    return out


def quantization(records: list[Annotation], alive: set[int]) -> list[onnx.TensorAnnotation]:
    """Quantization annotations; names in them follow the tensors they name."""
    out = []
    for entry in records:
        if entry.tensor is not None and not entry.is_outer and id(entry.tensor) not in alive:
            continue
        proto = entry.proto
        names = [p.name if p is not None else None for p in entry.parameters]
        renamed = [
            name is not None and name != text(item.value)
            for name, item in zip(names, proto.quant_parameter_tensor_names, strict=True)
        ]
        if (entry.tensor is not None and entry.tensor.name != text(proto.tensor_name)) or any(renamed):
            proto = copy_of(proto)
            if entry.tensor is not None:
                set_text(proto, "tensor_name", entry.tensor.name)
            for name, item, is_new in zip(names, proto.quant_parameter_tensor_names, renamed, strict=True):
                if is_new:
                    set_text(item, "value", name or "")
        out.append(proto)
    return out


def patched(tensor: Any, proto: onnx.ValueInfoProto, replaced: bool = False) -> onnx.ValueInfoProto:
    """The proto itself if it still says what the tensor is, else a copy with the differing fields rewritten."""
    before, after = _types(tensor, proto, replaced)
    changed = not _same(before, after)
    origin = getattr(tensor, "_t", None)
    described = (
        isinstance(tensor, gs.Variable)
        and (origin is None or origin.proto is proto)
        and (getattr(tensor, "_doc", None) is not None or getattr(tensor, "_metadata", None) is not None)
    )
    if not changed and not described and (tensor.name == proto.name or tensor.name == text(proto.name)):
        return proto
    out = copy_of(proto)
    if tensor.name != text(proto.name):
        set_text(out, "name", tensor.name)
    if changed:
        patch_type(out.type, before, after, f"value {tensor.name!r}")
    if described:
        describe(tensor, out)
    return out


def _types(tensor: Any, proto: Any, replaced: bool) -> tuple[_Type, _Type]:
    origin = getattr(tensor, "_t", None)
    if replaced:
        before: _Type = read_type(proto.type) if proto.HasField("type") else _UNKNOWN
    elif origin is None:
        return _UNKNOWN, _UNKNOWN
    else:
        before = origin.dtype, origin.shape, origin.type
    if isinstance(tensor, gs.Constant):
        if isinstance(tensor._values, Weight) and not replaced:
            return before, before
        return before, (tensor.dtype, tuple(tensor.shape), "tensor_type")
    return before, _now(tensor)


def _now(tensor: Any) -> _Type:
    return tensor.dtype, None if tensor.shape is None else tuple(tensor.shape), tensor.type


def _same(a: _Type, b: _Type) -> bool:
    if a[2] != b[2] or not same_dtype(a[0], b[0]):
        return False
    if a[1] == b[1]:
        return a[1] is None or a[1] == () or all(same_dim(p, q) for p, q in zip(a[1], b[1] or (), strict=True))
    return False


def made(tensor: Any) -> onnx.ValueInfoProto:
    """A new ValueInfoProto."""
    out = onnx.ValueInfoProto()
    set_text(out, "name", tensor.name)
    dtype, shape = tensor.dtype, None if tensor.shape is None else tuple(tensor.shape)
    if dtype is not None or shape is not None:
        write_type(out.type, dtype, shape, getattr(tensor, "type", "tensor_type"), f"value {tensor.name!r}")
    if isinstance(tensor, gs.Variable):
        describe(tensor, out)
    return out
