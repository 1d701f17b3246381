"""What a file is that is not an ONNX model, and what to do with it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from exec.ir.protobuf import DecodeError

HEAD = 4096
PARSE_LIMIT = 64 << 20


@dataclass(frozen=True, slots=True)
class Kind:
    """`what` completes "this is …"; `hint` is the next step."""

    what: str
    hint: str


def by_head(head: bytes, size: int) -> Kind | None:
    """What the first bytes of a file say it is; None for what could be a model. Nothing is unpacked or unpickled."""
    if size == 0:
        return Kind("an empty file", "fetch or export the model again")
    return _by_magic(head) or _by_text(head, size)


_PACKED = {
    b"BZh91AY&SY": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"7z\xbc\xaf": "7-Zip",
}


def _by_magic(head: bytes) -> Kind | None:
    if head.startswith(b"version https://git-lfs"):
        return Kind("a Git LFS pointer, not the model it points to", "`git lfs pull` fetches the model")
    if head.startswith(b"PK\x03\x04"):
        return Kind(
            "a zip archive (a PyTorch checkpoint is one, too)",
            "unzip it, or export the network with `torch.onnx.export`",
        )
    if head.startswith(b"\x1f\x8b"):
        return Kind("a gzip-compressed file", "`gunzip` it first")
    for magic, what in _PACKED.items():
        if head.startswith(magic):
            return Kind(f"a file packed with {what}", "unpack it first")
    if head[257:262] == b"ustar":
        return Kind("a tar archive", "unpack it first")
    if head.startswith(b"GGUF"):
        return Kind("a GGUF file: weights for llama.cpp", "export the network to ONNX")
    if head.startswith(b"\x93NUMPY"):
        return Kind("a numpy array", "a model is a .onnx file; arrays are given as inputs")
    if head.startswith((b"\x7fELF", b"MZ\x90")):
        return Kind("a program or library", "give the .onnx file")
    if head[4:8] == b"TFL3":
        return Kind("a TFLite model", "convert it with tf2onnx: `python -m tf2onnx.convert --tflite …`")
    if head[4:8] == b"ORTM":
        return Kind("a model in ORT format", "use the .onnx file it was made from")
    if re.match(rb"\x80[\x02-\x05].", head, re.DOTALL) and (head[2:3] in b"}](c\x8a\x95\x8cX" or b"torch" in head):
        return Kind("a Python pickle", "it is not opened, since a pickle runs code; export the network to ONNX instead")
    if re.match(rb".{7}\x00\{\s*\"", head, re.DOTALL):
        return Kind("a safetensors file: weights without a graph", "export the network to ONNX")
    if head.startswith(b"\x89HDF"):
        return Kind("an HDF5 file (a Keras model is one)", "convert it with tf2onnx")
    return None


def _by_text(head: bytes, size: int) -> Kind | None:
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    lower = text[:512].lower()
    if lower.startswith((b"<!doctype html", b"<html", b"<head", b"<?xml")):
        return Kind(
            "an HTML page, probably an error page of a download", "fetch the model again and look at the address"
        )
    if text.startswith((b"{", b"[")) and _printable(text):
        is_whole = size <= HEAD
        if is_whole:
            try:
                json.loads(head)
            except ValueError:
                return Kind("a text file", "a model is binary: export or fetch it again")
        return Kind(
            "a JSON file", "a model in protobuf JSON is read with google.protobuf.json_format; then save it as .onnx"
        )
    if _printable(text):
        if re.search(rb"\b(ir_version|graph|opset_import)\s*[:{]", text) or re.match(rb"<\s*ir_version", text):
            return Kind(
                "a model in a text form",
                "`onnx.load(path, format='textproto')` or onnx.parser reads it; then save it as .onnx",
            )
        return Kind("a text file", "a model is binary: export or fetch it again")
    return None


def _printable(data: bytes) -> bool:
    return bool(data) and not re.search(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", data) and _is_utf8(data)


def _is_utf8(data: bytes) -> bool:
    try:
        # The head may end inside a character.
        data[:-3].decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def other_proto(read: Callable[[int, int], bytes], size: int) -> Kind | None:
    """Which other message of ONNX a file is that is no ModelProto."""
    import onnx

    if size > PARSE_LIMIT:
        return None
    data = read(0, size)
    tensor = _parsed(onnx.TensorProto, data)
    if tensor is not None and tensor.data_type and tensor.ByteSize() > 4 and not tensor.HasField("segment"):
        return Kind("a TensorProto (one array, as test data sets have)", "`onnx.numpy_helper.to_array` reads it")
    graph = _parsed(onnx.GraphProto, data)
    if graph is not None and (graph.node or graph.initializer) and (graph.output or graph.input):
        return Kind("a GraphProto without a model around it", "`onnx.helper.make_model(graph)` makes a model of it")
    return None


def _parsed(kind: Any, data: bytes) -> Any:
    try:
        return kind.FromString(data)
    except DecodeError:
        return None
