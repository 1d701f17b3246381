"""External data come from the model's folder and from nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

from exec.errors import BenchError, ExternalDataError, InvalidModel
from exec.ir import Model, load
from exec.ir.external import DataFiles

CANARY = b"TOP-SECRET-" * 8
VALUES = np.arange(4, dtype=np.float32)
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX links")


def outside(
    location: str, offset: str | None = None, length: str | None = None, dims: tuple[int, ...] = (4,), **extra: str
) -> T:
    tensor = T(name="w", data_type=T.FLOAT, dims=dims, data_location=T.EXTERNAL)
    for key, value in {"location": location, "offset": offset, "length": length, **extra}.items():
        if value is not None:
            tensor.external_data.add(key=key, value=value)
    return tensor


def model_with(tensor: T) -> onnx.ModelProto:
    info = h.make_tensor_value_info
    graph = h.make_graph(
        [h.make_node("Add", ["x", "w"], ["y"])], "g", [info("x", T.FLOAT, [4])], [info("y", T.FLOAT, [4])], [tensor]
    )
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder with a data file, and a secret beside the folder."""
    inner = tmp_path / "model"
    inner.mkdir()
    (inner / "w.bin").write_bytes(VALUES.tobytes())
    (tmp_path / "secret.bin").write_bytes(CANARY)
    return inner


def save(folder: Path, tensor: T) -> Path:
    path = folder / "m.onnx"
    path.write_bytes(model_with(tensor).SerializeToString())
    return path


def values(model: Model) -> Any:
    return model.graph.nodes[0].inputs[1].values


def test_data_beside_the_model_are_read(folder: Path) -> None:
    assert values(load(save(folder, outside("w.bin")))).tolist() == VALUES.tolist()
    (folder / "sub").mkdir()
    (folder / "sub" / "v.bin").write_bytes(bytes(4096) + VALUES.tobytes())
    assert values(load(save(folder, outside("sub/v.bin", "4096", "16")))).tolist() == VALUES.tolist()


def test_a_model_in_the_current_folder_may_be_opened_by_its_bare_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(folder, outside("w.bin"))
    monkeypatch.chdir(folder)
    model = load("m.onnx")
    monkeypatch.chdir(folder.parent)
    assert values(model).tolist() == VALUES.tolist()


REFUSED = {
    "../secret.bin": "out of the model's folder",
    "sub/../../secret.bin": "out of the model's folder",
    "/etc/hostname": "absolute path",
    "..\\secret.bin": "backslash",
    "file:///etc/hostname": "an address",
    "C:secret.bin": "an address",
    "*/_ORT_MEM_ADDR_/*": "address in some process's memory",
    "w.bin\0.txt": "NUL",
    "": "empty",
    ".": "empty",
}


@pytest.mark.parametrize("location", REFUSED)
def test_a_location_that_is_no_plain_name_is_refused(folder: Path, location: str) -> None:
    with pytest.raises(ExternalDataError, match=REFUSED[location]) as caught:
        load(save(folder, outside(location)))
    assert "tensor 'w'" in caught.value.where
    assert "m.onnx" in caught.value.where


@posix
def test_links_out_of_the_folder_are_refused(folder: Path) -> None:
    (folder / "link.bin").symlink_to("../secret.bin")
    (folder / "up").symlink_to("..")
    os.link(folder.parent / "secret.bin", folder / "hard.bin")
    for location, why in {"link.bin": "a link out", "up/secret.bin": "a link out", "hard.bin": "hard link"}.items():
        with pytest.raises(ExternalDataError, match=why) as caught:
            load(save(folder, outside(location)))
        assert "--allow-outside" in caught.value.hint


@posix
def test_the_override_reads_them_all_the_same(folder: Path) -> None:
    (folder.parent / "secret.bin").write_bytes(VALUES.tobytes())
    (folder / "link.bin").symlink_to("../secret.bin")
    os.link(folder.parent / "secret.bin", folder / "hard.bin")
    for location in ("../secret.bin", "link.bin", "hard.bin", os.fspath(folder.parent / "secret.bin")):
        assert values(load(save(folder, outside(location)), allow_outside=True)).tolist() == VALUES.tolist()


@posix
def test_a_link_that_stays_inside_is_read_with_a_note(folder: Path) -> None:
    (folder / "link.bin").symlink_to("w.bin")
    model = load(save(folder, outside("link.bin")))
    assert values(model).tolist() == VALUES.tolist()
    assert [note.code for note in model.notes] == ["linked-data"]


@posix
def test_the_cache_of_hugging_face_is_read_with_a_note(tmp_path: Path) -> None:
    blobs, revision = tmp_path / "blobs", tmp_path / "snapshots" / "rev"
    blobs.mkdir()
    revision.mkdir(parents=True)
    (blobs / "aa").write_bytes(model_with(outside("m.onnx_data")).SerializeToString())
    (blobs / "bb").write_bytes(VALUES.tobytes())
    (tmp_path / "secret.bin").write_bytes(CANARY)
    (revision / "m.onnx").symlink_to("../../blobs/aa")
    (revision / "m.onnx_data").symlink_to("../../blobs/bb")
    model = load(revision / "m.onnx")
    assert values(model).tolist() == VALUES.tolist()
    assert [note.code for note in model.notes] == ["linked-data"]
    (revision / "m.onnx_data").unlink()
    (revision / "m.onnx_data").symlink_to("../../secret.bin")
    with pytest.raises(ExternalDataError, match="a link out"):
        load(revision / "m.onnx")


@posix
@pytest.mark.parametrize("make", ["fifo", "folder", "device"])
def test_what_is_no_file_is_refused_at_once(folder: Path, make: str) -> None:
    target = folder / "odd.bin"
    if make == "fifo":
        os.mkfifo(target)
    elif make == "folder":
        target.mkdir()
    else:
        target.symlink_to("/dev/zero")
    with pytest.raises(ExternalDataError):
        load(save(folder, outside("odd.bin")))
    if make == "device":
        with pytest.raises(ExternalDataError, match="a device"):
            load(save(folder, outside("odd.bin")), allow_outside=True)


def test_a_link_made_between_check_and_open_is_not_followed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.name != "posix":
        pytest.skip("needs POSIX links")
    path = save(folder, outside("w.bin"))
    real = os.path.realpath

    def realpath(name: Any, **options: Any) -> Any:
        resolved = real(name, **options)
        if os.fspath(name).endswith("w.bin"):
            (folder / "w.bin").unlink()
            (folder / "w.bin").symlink_to("../secret.bin")
        return resolved

    monkeypatch.setattr("exec.ir.external.os.path.realpath", realpath)
    with pytest.raises(ExternalDataError):
        load(path)


NUMBERS = [
    ("-4", None, "the offset"),
    (None, "-1", "the length"),
    ("12abc", None, "the offset"),
    ("٣", None, "the offset"),
    ("9223372036854775808", None, "the offset"),
    ("9223372036854775800", "16", "beyond the end"),
    ("4096", None, "beyond the end"),
    (None, "1125899906842624", "beyond the end"),
    (None, "8", "where its shape needs 16"),
]


@pytest.mark.parametrize(("offset", "length", "why"), NUMBERS)
def test_numbers_that_do_not_fit_the_file_or_the_shape_are_refused(
    folder: Path, offset: str | None, length: str | None, why: str
) -> None:
    with pytest.raises(ExternalDataError, match=why):
        load(save(folder, outside("w.bin", offset, length)))


def test_a_length_that_is_too_long_is_noted_and_not_read(folder: Path) -> None:
    (folder / "w.bin").write_bytes(VALUES.tobytes() * 2)
    model = load(save(folder, outside("w.bin", length="32")))
    assert [note.code for note in model.notes] == ["external-length"]
    with pytest.raises(ExternalDataError, match="32 bytes where its shape needs 16"):
        values(model)


def test_a_missing_data_file_still_lets_the_model_be_looked_at_and_copied(folder: Path) -> None:
    (folder / "w.bin").unlink()
    proto = model_with(outside("w.bin"))
    model = load(save(folder, outside("w.bin")))
    assert [note.code for note in model.notes] == ["missing-data"]
    assert model.graph.nodes[0].inputs[1].shape == [4]
    assert model.to_proto() == proto
    with pytest.raises(ExternalDataError, match=r"w\.bin is not there"):
        values(model)
    with pytest.raises(ExternalDataError, match=r"w\.bin is not there"):
        model.save(folder.parent / "elsewhere.onnx")
    assert not (folder.parent / "elsewhere.onnx").exists()


def test_a_model_without_a_path_has_no_folder_to_look_in(folder: Path) -> None:
    model = load(model_with(outside("w.bin")))
    with pytest.raises(ExternalDataError, match="not known"):
        values(model)
    with pytest.raises(ExternalDataError, match="out of the model's folder"):
        load(model_with(outside("../w.bin")))


def test_unknown_keys_and_raw_data_beside_are_noted(folder: Path) -> None:
    assert [n.code for n in load(save(folder, outside("w.bin", __class__="x"))).notes] == ["external-key"]
    both = outside("w.bin")
    both.raw_data = bytes(16)
    assert [n.code for n in load(save(folder, both)).notes] == ["raw-and-external"]
    text = outside("w.bin")
    text.data_type = T.STRING
    with pytest.raises(BenchError, match="string tensor"):
        load(save(folder, text))


@posix
def test_a_huge_sparse_file_opens_at_once_and_only_its_window_is_mapped(folder: Path) -> None:
    with open(folder / "w.bin", "wb") as file:
        file.seek(99 << 30)
        file.write(VALUES.tobytes())
        file.truncate(100 << 30)
    assert values(load(save(folder, outside("w.bin", str(99 << 30), "16")))).tolist() == VALUES.tolist()
    whole = load(save(folder, outside("w.bin", dims=(25 << 30,))), strict=False)  # x is smaller
    assert "large-data" in [note.code for note in whole.notes]


def places() -> dict[str, Callable[[T], onnx.ModelProto]]:
    """Every place of a model where a tensor can sit."""
    fine = nh.from_array(VALUES, "w")

    def attribute(kind: int, field: str, tensor: Any, repeated: bool = False) -> onnx.ModelProto:
        proto = model_with(fine)
        item = proto.graph.node[0].attribute.add(name="a", type=kind)
        target = getattr(item, field)
        (target.add() if repeated else target).CopyFrom(tensor)
        return proto

    def as_sparse(tensor: T, index: bool = False) -> onnx.SparseTensorProto:
        parts = [nh.from_array(np.float32([1]), "v"), nh.from_array(np.int64([1]), "i")]
        parts[index] = tensor
        return onnx.SparseTensorProto(values=parts[0], indices=parts[1], dims=[4])

    def subgraph(tensor: T) -> onnx.GraphProto:
        return h.make_graph(
            [h.make_node("Identity", ["v"], ["o"])],
            "s",
            [],
            [h.make_tensor_value_info("o", T.FLOAT, [4])],
            [renamed(tensor)],
        )

    def renamed(tensor: T) -> T:
        copy = T()
        copy.CopyFrom(tensor)
        copy.name = "v"
        return copy

    def in_function(tensor: T) -> onnx.ModelProto:
        proto = model_with(fine)
        node = h.make_node("Constant", [], ["b"], value=tensor)
        proto.functions.append(h.make_function("loc", "F", [], ["b"], [node], [h.make_opsetid("", 21)]))
        return proto

    def in_training(tensor: T) -> onnx.ModelProto:
        proto = model_with(fine)
        proto.training_info.add().algorithm.CopyFrom(subgraph(tensor))
        return proto

    def in_sparse(tensor: T, index: bool) -> onnx.ModelProto:
        proto = model_with(fine)
        proto.graph.sparse_initializer.append(as_sparse(tensor, index))
        return proto

    A = onnx.AttributeProto
    return {
        "initializer": model_with,
        "attribute": lambda t: attribute(A.TENSOR, "t", t),
        "attributes": lambda t: attribute(A.TENSORS, "tensors", t, True),
        "sparse attribute": lambda t: attribute(A.SPARSE_TENSOR, "sparse_tensor", as_sparse(t)),
        "sparse attributes": lambda t: attribute(A.SPARSE_TENSORS, "sparse_tensors", as_sparse(t, True), True),
        "subgraph": lambda t: attribute(A.GRAPH, "g", subgraph(t)),
        "subgraphs": lambda t: attribute(A.GRAPHS, "graphs", subgraph(t), True),
        "sparse values": lambda t: in_sparse(t, False),
        "sparse indices": lambda t: in_sparse(t, True),
        "function": in_function,
        "training": in_training,
    }


@pytest.mark.parametrize("place", places())
def test_no_place_of_a_model_leads_to_a_file_outside(folder: Path, place: str) -> None:
    for location in ("../secret.bin", os.fspath(folder.parent / "secret.bin")):
        proto = places()[place](outside(location))
        path = folder / "m.onnx"
        path.write_bytes(proto.SerializeToString())
        with pytest.raises(ExternalDataError) as caught:
            load(path)
        assert CANARY.decode() not in str(caught.value)
        model = load(path, strict=False)
        assert "external-data" in [note.code for note in model.notes]
        with pytest.raises((ExternalDataError, InvalidModel)):
            model.save(folder / "copied.onnx")
        assert all(CANARY not in found.read_bytes() for found in folder.iterdir())


@given(
    st.text(max_size=20) | st.lists(st.sampled_from(["..", ".", "a", "/", "\\", "//", "C:"]), max_size=6).map("".join)
)
def test_whatever_the_location_it_stays_beneath_the_folder(location: str) -> None:
    files = DataFiles("/nowhere/model")
    try:
        files.check_location(location, "tensor 'w'")
    except ExternalDataError:
        return
    joined = os.path.normpath(os.path.join("/nowhere/model", location))
    assert joined.startswith("/nowhere/model")
