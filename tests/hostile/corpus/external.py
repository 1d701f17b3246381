"""Weights said to lie elsewhere: beside the model, outside its folder, or nowhere. The secret lies above the folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
from onnx import TensorProto as T

from corpus.case import CLEAN, ERROR, WARN, Case, built

SECRET = b"CANARY-" * 40
ADD = "g (float[6] x) => (float[6] y) { y = Add(x, w) }"
COPY = "g (float[6] x) => (float[6] y) { y = Identity(x) }"


def _fill(tensor: onnx.TensorProto, location: str, **more: str) -> None:
    tensor.name, tensor.data_type, tensor.data_location = "w", T.FLOAT, T.EXTERNAL
    tensor.dims.append(6)
    for key, value in {"location": location, **more}.items():
        tensor.external_data.add(key=key, value=value)


def weight(location: str, **more: str) -> Callable[[], bytes]:
    return built(lambda proto: _fill(proto.graph.initializer.add(), location, **more), ADD)


def constant(location: str) -> Callable[[], bytes]:
    def change(proto: onnx.ModelProto) -> None:
        node = proto.graph.node[0]
        node.op_type, node.output[0] = "Constant", "y"
        node.ClearField("input")
        made = node.attribute.add(name="value", type=onnx.AttributeProto.TENSOR)
        _fill(made.t, location)

    return built(change, COPY)


def beside(name: str, data: bytes = bytes(24)) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(data) and None


def cases() -> Iterator[Case]:
    def refused(name: str, make: Callable[[], bytes], place: Callable[[Path], None] | None = None) -> Case:
        return Case(f"external/{name}", make, CLEAN, ERROR, place=place)

    yield Case("external/right", weight("w.bin"), place=beside("w.bin"))
    yield Case("external/in a folder below", weight("data/w.bin"), place=_below)
    yield Case("external/data longer than needed", weight("w.bin", offset="0", length="24"), place=beside("w.bin", bytes(99)))  # fmt: skip
    yield Case("external/missing", weight("gone.bin"), WARN, ERROR, "gone.bin")
    yield refused("above", weight("../secret.bin"))
    yield refused("above, after a detour", weight("data/../../secret.bin"), _below)
    yield refused("absolute", _absolute())
    yield refused("a link out", weight("w.bin"), lambda folder: os.symlink("../secret.bin", folder / "w.bin"))
    yield refused(
        "a hard link out", weight("w.bin"), lambda folder: os.link(folder / "../secret.bin", folder / "w.bin")
    )
    yield refused("a folder that is a link out", weight("data/secret.bin"), lambda folder: os.symlink("..", folder / "data"))  # fmt: skip
    yield refused("in a Constant, above", constant("../secret.bin"))
    yield refused("a pipe", weight("w.bin"), lambda folder: os.mkfifo(folder / "w.bin"))
    yield refused("a folder", weight("w.bin"), lambda folder: (folder / "w.bin").mkdir())
    yield refused("too short", weight("w.bin"), beside("w.bin", bytes(20)))
    yield refused("offset past the end", weight("w.bin", offset="99"), beside("w.bin"))
    yield refused("offset below 0", weight("w.bin", offset="-4"), beside("w.bin"))
    yield refused("length of another shape", weight("w.bin", length="12"), beside("w.bin"))
    yield refused("offset of words", weight("w.bin", offset="four"), beside("w.bin"))
    yield refused("backslash", weight("..\\secret.bin"))
    yield refused("a URI", weight("file:///etc/hostname"))
    yield refused("memory", weight("*/_ORT_MEM_ADDR_/*", offset="4096", length="24"))
    yield refused("no location", weight(""))


def _below(folder: Path) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "w.bin").write_bytes(bytes(24))


def _absolute() -> Callable[[], bytes]:
    return weight(os.path.abspath(os.devnull))
