"""Files that are no model, or not a whole one."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import struct
import zipfile
from collections.abc import Iterator

from onnx import helper as h

from corpus.case import ERROR, PLAIN, Case, text

WHOLE = text(PLAIN)


def _zip() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02.")
    return made.getvalue()


def _safetensors() -> bytes:
    head = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(head)) + head + bytes(4)


def _field(number: int, kind: int, payload: bytes) -> bytes:
    return bytes([number << 3 | kind]) + payload


def cases() -> Iterator[Case]:
    kinds = {
        "nothing": (b"", "empty"),
        "a git LFS pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "lfs"),
        "a web page": (b"<!DOCTYPE html><html><body>404</body></html>", "html"),
        "a zip": (_zip(), "zip"),
        "a pickle": (pickle.dumps({"state": [1.0]}), "pickle"),
        "a TFLite file": (b"\x1c\0\0\0TFL3" + bytes(64), "tflite"),
        "an ORT file": (b"\x1c\0\0\0ORTM" + bytes(64), "ort"),
        "safetensors": (_safetensors(), "safetensors"),
        "gzip": (gzip.compress(WHOLE()), "gzip"),
        "JSON": (b'{"graph": {}}', "json"),
        "a text proto": (b'ir_version: 8\nproducer_name: "x"\ngraph {\n}\n', "text"),
        "a tensor": (bytes(h.make_tensor("w", 1, [2], [1.0, 2.0]).SerializeToString()), "tensorproto"),
        "words": (b"hello\n" * 40, ""),
        "zeros": (bytes(4096), ""),
        "a PNG": (b"\x89PNG\r\n\x1a\n" + bytes(64), ""),
        "half": (WHOLE()[: len(WHOLE()) // 2], ""),
        "two, one after the other": (WHOLE() * 2, ""),
        "a length past the end": (_field(7, 2, b"\xff\xff\xff\xff\x07") + b"x", ""),
        "a varint without an end": (_field(1, 0, b"\xff" * 12), ""),
        "a group never closed": (WHOLE() + b"\x0b", ""),
        "a graph as a number": (_field(7, 0, b"\x05"), ""),
    }
    for name, (data, says) in kinds.items():
        yield Case(f"wire/{name}", lambda data=data: data, ERROR, ERROR, says)  # type: ignore[misc]
    yield Case("wire/a field nobody knows", lambda: WHOLE() + b"\xfa\x3f\x04next")
