"""What is no ONNX model is named, with the next step."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from google.protobuf import json_format, text_format  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from onnx import numpy_helper as nh

from exec.errors import BenchError, UnreadableModel
from exec.ir import load


def archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("archive/data.pkl", b"x")
    return buffer.getvalue()


def safetensors() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(4)


class Trap:
    """A pickle that would leave a mark if it were ever loaded."""

    def __reduce__(self) -> tuple[object, ...]:
        return (os.mkdir, ("unpickled",))


MODEL = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu (x) }'
)
DATA = MODEL.SerializeToString()

KINDS: dict[str, tuple[bytes, str, str]] = {
    "empty": (b"", "empty file", "again"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "Git LFS pointer", "git lfs pull"),
    "html": (b"<!DOCTYPE html><html><body>404</body></html>", "HTML page", "address"),
    "zip": (archive(), "zip archive", "torch.onnx.export"),
    "pickle": (pickle.dumps(Trap()), "pickle", "export"),
    "pickle of a dict": (pickle.dumps({"w": [1.0]}, protocol=2), "pickle", "export"),
    "tflite": (b"\x1c\0\0\0TFL3" + bytes(40), "TFLite", "tf2onnx"),
    "ort": (b"\x1c\0\0\0ORTM" + bytes(40), "ORT format", ".onnx"),
    "safetensors": (safetensors(), "safetensors", "export"),
    "gzip": (gzip.compress(DATA), "gzip", "gunzip"),
    "bzip2": (bz2.compress(DATA), "bzip2", "unpack"),
    "xz": (lzma.compress(DATA), "xz", "unpack"),
    "zstd": (b"\x28\xb5\x2f\xfd" + bytes(40), "zstd", "unpack"),
    "tar": (b"model.onnx".ljust(257, b"\0") + b"ustar\x0000" + bytes(200), "tar", "unpack"),
    "gguf": (b"GGUF\x03\0\0\0" + bytes(40), "GGUF", "export"),
    "npy": (b"\x93NUMPY\x01\0" + bytes(40), "numpy array", "inputs"),
    "program": (b"\x7fELF\x02\x01\x01" + bytes(40), "program", ".onnx"),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(40), "HDF5", "tf2onnx"),
    "text": (b"Hello, this is a README.\n" * 9, "text file", "export"),
    "json": (json_format.MessageToJson(MODEL).encode(), "JSON", "json_format"),
    "text proto": (text_format.MessageToString(MODEL).encode(), "text form", "textproto"),
    "onnx text": (onnx.printer.to_text(MODEL).encode(), "text form", "onnx.parser"),
    "tensor": (nh.from_array(np.ones(3, np.float32), "x").SerializeToString(), "TensorProto", "to_array"),
    "int tensor": (nh.from_array(np.ones(3, np.int64)).SerializeToString(), "TensorProto", "to_array"),
    "graph": (MODEL.graph.SerializeToString(), "GraphProto", "make_model"),
    "twice": (DATA + DATA, "2 graphs", "split"),
    "no graph": (
        onnx.ModelProto(ir_version=8, producer_name="p").SerializeToString(),
        "ends before its graph",
        "again",
    ),
    "cut": (DATA[:-3], "only a part", "again"),
    "noise": (bytes(range(7, 255)) * 9, "not an ONNX model", "again"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_of_file_and_the_next_step_are_named(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data, says, hint = KINDS[kind]
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    with pytest.raises(UnreadableModel) as caught:
        load(path)
    assert says in caught.value.what
    assert hint in caught.value.hint
    assert "m.onnx" in caught.value.where
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]
    with pytest.raises(UnreadableModel):
        load(data)


def test_a_file_above_two_gigabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    with open(path, "wb") as file:
        file.truncate((2 << 30) + 5)
    with pytest.raises(UnreadableModel, match="at most 2 GB") as caught:
        load(path)
    assert "external" in caught.value.hint


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "resnet50.onnx").write_bytes(DATA)
    with pytest.raises(UnreadableModel, match="no such file") as caught:
        load(tmp_path / "resnet5.onnx")
    assert "resnet50.onnx" in caught.value.hint
    with pytest.raises(UnreadableModel, match="no such file"):
        load(tmp_path / "nowhere" / "m.onnx")
    with pytest.raises(UnreadableModel, match="a folder") as folder:
        load(tmp_path)
    assert "resnet50.onnx" in folder.value.hint
    with pytest.raises(UnreadableModel, match="cannot be opened"):
        load("bad\0name.onnx")


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
def test_pipes_and_devices_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.onnx")
    with pytest.raises(UnreadableModel, match="a named pipe"):
        load(tmp_path / "pipe.onnx")
    (tmp_path / "zero.onnx").symlink_to("/dev/zero")
    with pytest.raises(UnreadableModel, match="a device"):
        load(tmp_path / "zero.onnx")


@given(st.binary(max_size=300))
def test_any_bytes_are_a_model_or_a_named_error(data: bytes) -> None:
    with contextlib.suppress(BenchError):
        load(data)


@given(st.integers(0, len(DATA) - 1), st.binary(min_size=1, max_size=4), st.booleans())
def test_a_damaged_model_is_a_model_or_a_named_error(at: int, junk: bytes, insert: bool) -> None:
    data = DATA[:at] + junk + DATA[at if insert else at + len(junk) :]
    try:
        model = load(data, strict=False)
    except BenchError:
        return
    assert model.to_proto() == onnx.ModelProto.FromString(data)


def test_what_opens_also_saves(tmp_path: Path, layered: Callable[..., Path]) -> None:
    path = layered()
    load(path.read_bytes()).save(tmp_path / "out.onnx")
    assert (tmp_path / "out.onnx").read_bytes() == path.read_bytes()
