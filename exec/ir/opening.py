"""From a path, bytes or a ModelProto to a parsed, stripped model: nothing is read before it is known to be a file of sane size."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from exec.budget import Limits
from exec.errors import InvalidModel, UnreadableModel
from exec.ir import fs, sniff, wire
from exec.ir.external import DataFiles, for_model
from exec.ir.protobuf import DecodeError, EncodeError
from exec.ir.sources import MAP_ABOVE, FileSource, MemorySource, Source
from exec.ir.store import TWO_GB, Store

if TYPE_CHECKING:
    import onnx


PROTO = "ModelProto"


def open_path(path: Path, allow_outside: bool, limits: Limits | None = None) -> tuple[onnx.ModelProto, Store]:
    """Parse a file without its large weights."""
    where = f"file {os.fspath(path)}"
    try:
        file = FileSource(fs.open_file(path), os.fspath(path))
    except FileNotFoundError as error:
        raise UnreadableModel("there is no such file", where, hint=_similar(path)) from error
    except fs.NotRegularError as error:
        raise UnreadableModel(f"{error.strerror}, not a model file", where, hint=_model_in(path)) from error
    except (OSError, ValueError) as error:
        raise UnreadableModel(
            "the file cannot be opened", where, getattr(error, "strerror", None) or str(error)
        ) from error
    if file.size > TWO_GB:
        raise UnreadableModel(
            f"the file is {file.size:,} bytes, and a protobuf message holds at most 2 GB",
            where,
            hint="save the model with external data: onnx.save(model, path, save_as_external_data=True)",
        )
    source: Source = file
    if file.size <= MAP_ABOVE:
        source = MemorySource(file.read(0, file.size))
    return parse(source, where, for_model(path, allow_outside), limits)


def open_bytes(
    data: bytes, allow_outside: bool, limits: Limits | None = None, where: str = "bytes"
) -> tuple[onnx.ModelProto, Store]:
    """Parse a serialized model."""
    return parse(MemorySource(data), where, DataFiles(None, allow_outside=allow_outside), limits)


def open_proto(
    proto: onnx.ModelProto, allow_outside: bool, limits: Limits | None = None
) -> tuple[onnx.ModelProto, Store]:
    """A ModelProto by way of its bytes: the caller's is neither kept nor changed."""
    try:
        data = proto.SerializeToString()
    except (ValueError, EncodeError) as error:
        raise InvalidModel(
            "the ModelProto cannot be serialized",
            why=str(error).split("\n")[0],
            hint="one over 2 GB has to go through a file with external data",
        ) from error
    return open_bytes(data, allow_outside, limits, PROTO)


def parse(source: Source, where: str, files: DataFiles, limits: Limits | None = None) -> tuple[onnx.ModelProto, Store]:
    """Strip and parse; what is no model is named."""
    kind = None if where == PROTO else sniff.by_head(source.read(0, sniff.HEAD), source.size)
    if kind is not None:
        raise UnreadableModel(f"this is {kind.what}", where, hint=kind.hint)
    store = Store(source, files, limits)
    try:
        proto, graphs = _stripped(source, store)
    except UnreadableModel as error:
        raise _named(source, where, error) from error
    if graphs > 1:
        raise UnreadableModel(
            f"the file has {graphs} graphs at its top: models were written one behind the other",
            where,
            hint="split it or export it again",
        )
    if where != PROTO and (graphs == 0 or not (proto.ir_version or proto.opset_import)):
        raise _named(
            source, where, UnreadableModel("the file ends before its graph", where, hint="fetch or export it again")
        )
    if not store.spans:
        store.source = None
    return proto, store


def _stripped(source: Source, store: Store) -> tuple[onnx.ModelProto, int]:
    import onnx

    again = "fetch or export it again"
    try:
        stripped = wire.strip(source.read, source.size, store.nonce)
    except wire.MalformedError as error:
        found = f"at byte {error.at:,} of {source.size:,}: {error}"
        raise UnreadableModel("this is not an ONNX model, or only a part of one", why=found, hint=again) from error
    try:
        proto = onnx.ModelProto.FromString(stripped.data)
    except DecodeError as error:
        found = f"protobuf cannot parse it: {_first_line(error)}"
        raise UnreadableModel("this is not an ONNX model, or a damaged one", why=found, hint=again) from error
    store.spans = stripped.spans
    return proto, stripped.graphs


def _named(source: Source, where: str, error: UnreadableModel) -> UnreadableModel:
    """The error, or a better one where the file is another message of ONNX."""
    kind = sniff.other_proto(source.read, source.size)
    if kind is not None:
        return UnreadableModel(f"this is {kind.what}", where, hint=kind.hint)
    return UnreadableModel(error.what, where, error.why, error.hint)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).split("\n")[0]


def _similar(path: Path) -> str:
    from exec.errors import nearest

    try:
        names = [entry.name for entry in os.scandir(path.parent)]
    except OSError:
        return f"there is no folder {os.fspath(path.parent)!r}, either"
    return nearest(path.name, names)


def _model_in(path: Path) -> str:
    try:
        names = sorted(entry.name for entry in os.scandir(path) if entry.name.endswith(".onnx"))
    except OSError:
        return ""
    return f"it has {', '.join(names[:3])}" if names else ""
