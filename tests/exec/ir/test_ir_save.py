"""A save leaves the old files whole or the new ones whole, and nothing else."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper as nh

from exec.errors import OptionError, SaveError
from exec.ir import Model, load
from exec.ir import fs as file_system
from exec.ir.datafile import ALIGNMENT

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
Layered = Callable[..., Path]
CALLS = (
    "write",
    "fsync",
    "replace",
    "link",
    "open",
    "copy_file_range",
    "fchmod",
    "lseek",
    "pread",
    "ftruncate",
    "rename",
)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def weights(path: Path) -> list[list[list[float]]]:
    model = onnx.load(path)
    return [nh.to_array(tensor).tolist() for tensor in model.graph.initializer]


def change_one(model: Model) -> None:
    model.graph.nodes[0].inputs[1].values = np.full((64, 64), 3, np.float32)


def test_a_model_is_saved_over_its_own_file(layered: Layered) -> None:
    path = layered()
    before = path.read_bytes()
    model = load(path)
    model.save(path)
    assert contents(path.parent) == {"m.onnx": before}
    change_one(model)
    model.save(path)
    assert weights(path)[0][0][0] == 3
    assert (
        weights(path)[1:] == [nh.to_array(t).tolist() for t in onnx.ModelProto.FromString(before).graph.initializer][1:]
    )
    assert list(contents(path.parent)) == ["m.onnx"]


def test_external_data_stay_where_they_are_when_a_model_is_saved_over_itself(layered: Layered) -> None:
    path = layered(external=True)
    before = contents(path.parent)
    model = load(path)
    model.graph.nodes[0].name = "renamed"
    saved = model.save(path)
    assert saved.data_path is None
    assert contents(path.parent)["w.bin"] == before["w.bin"]
    assert sorted(contents(path.parent)) == ["m.onnx", "w.bin"]
    assert load(path).graph.nodes[0].name == "renamed"


def test_a_model_with_external_data_takes_them_along_to_another_folder(layered: Layered, tmp_path: Path) -> None:
    path = layered(external=True)
    before = contents(path.parent)
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "n.onnx"
    for _ in range(3):
        saved = load(path).save(target)
        assert saved.data_path is not None
        assert sorted(contents(target.parent)) == sorted(["n.onnx", saved.data_path.name])
        assert weights(target) == weights(path)
    assert contents(path.parent) == before
    assert load(target).to_proto().graph.node == load(path).to_proto().graph.node


def test_a_changed_weight_goes_to_a_new_data_file_and_the_old_one_of_ours_goes(layered: Layered) -> None:
    path = layered()
    load(path).save(path, external=True)
    assert sorted(contents(path.parent)) == ["m.onnx", "m.onnx.data"]
    model = load(path)
    for _ in range(3):
        change_one(model)
        model.save(path)
        assert len(contents(path.parent)) == 2
        assert weights(path)[0][0][0] == 3
    assert model.graph.nodes[1].inputs[1].values.shape == (64, 64)
    other = path.with_name("other.onnx")
    other.write_bytes(path.read_bytes())
    change_one(model)
    model.save(path)
    assert weights(other) == weights(path)


def test_weights_are_brought_in_and_out_on_request(layered: Layered) -> None:
    path = layered(external=True)
    wanted = weights(path)
    inline = path.with_name("inline.onnx")
    load(path).save(inline, external=False)
    assert weights(inline) == wanted
    assert not any(t.external_data for t in load(inline).to_proto().graph.initializer)
    out = path.with_name("out.onnx")
    saved = load(inline).save(out, external="named.bin")
    assert saved.data_path == path.with_name("named.bin")
    assert weights(out) == wanted
    load(out).save(out, external=False)
    assert weights(out) == wanted


@pytest.mark.parametrize("neighbour", ["a copy", "too large to ask"])
def test_a_data_file_that_another_file_may_read_stays(
    layered: Layered, neighbour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = layered("m.onnx")
    load(path).save(path, external=True)
    data = path.with_name("m.onnx.data")
    assert data.exists()
    other = path.with_name("m.onnx.bak" if neighbour == "a copy" else "big.onnx")
    other.write_bytes(path.read_bytes() if neighbour == "a copy" else bytes(100))
    if neighbour != "a copy":
        monkeypatch.setattr("exec.ir.save.MAP_ABOVE", 64)
    load(path).save(path, external=False)
    assert data.exists()


def test_offsets_in_our_data_files_are_pages_and_what_is_shared_is_written_once(layered: Layered) -> None:
    path = layered(layers=3)
    model = load(path)
    shared = np.ones((64, 64), np.float32)
    for node in model.graph.nodes[:2]:
        node.inputs[1].values = shared
    target = path.with_name("out.onnx")
    saved = model.save(target, external=True)
    tensors = onnx.load(target, load_external_data=False).graph.initializer
    offsets = [int({e.key: e.value for e in t.external_data}["offset"]) for t in tensors]
    assert offsets[0] == offsets[1]
    assert all(offset % ALIGNMENT == 0 for offset in offsets)
    assert saved.data_bytes == 2 * 64 * 64 * 4
    loaded = load(target)
    assert all(node.inputs[1].values.__array_interface__["data"][0] % 64 == 0 for node in loaded.graph.nodes)


def test_a_model_of_more_than_two_gigabytes_is_split_by_itself(
    layered: Layered, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("save", "datafile", "store"):
        monkeypatch.setattr(f"exec.ir.{module}.TWO_GB", 20_000)
    path = layered()
    model = load(path)
    saved = model.save(path.with_name("out.onnx"))
    assert saved.data_path is not None
    assert weights(saved.path) == weights(path)
    with pytest.raises(SaveError, match="at most 2 GB") as caught:
        model.save(path.with_name("one.onnx"), external=False)
    assert "external=True" in caught.value.hint
    assert not path.with_name("one.onnx").exists()
    with pytest.raises(Exception, match="at most 2 GB"):
        model.to_proto()


def test_attributes_go_to_the_data_file_only_when_nothing_else_helps(
    rich: onnx.ModelProto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = load(rich).save(tmp_path / "m.onnx", external=True)
    again = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    assert [t.name for t in again.graph.initializer if t.external_data] == ["big"]
    assert saved.data_bytes == 3 * 512 * 4
    for module in ("save", "datafile", "store"):
        monkeypatch.setattr(f"exec.ir.{module}.TWO_GB", 3000)
    saved = load(rich).save(tmp_path / "n.onnx")
    assert saved.data_bytes > 3 * 512 * 4
    assert load(tmp_path / "n.onnx").graph.nodes[5].attrs["value"].values.shape == (16, 32)


def test_small_external_tensors_are_taken_in_on_the_way_to_another_place(layered: Layered, tmp_path: Path) -> None:
    path = layered(external=True)
    proto = onnx.load(path, load_external_data=False)
    proto.graph.initializer[0].dims[:] = [2, 2]
    proto.graph.initializer[0].external_data[2].value = "16"
    path.write_bytes(proto.SerializeToString())
    target = tmp_path / "elsewhere"
    target.mkdir()
    load(path, strict=False).save(target / "m.onnx")
    places = [t.data_location for t in onnx.load(target / "m.onnx", load_external_data=False).graph.initializer]
    assert places == [onnx.TensorProto.DEFAULT, *[onnx.TensorProto.EXTERNAL] * 3]
    assert weights(target / "m.onnx")[1:] == weights(path)[1:]


@posix
def test_holes_of_a_data_file_stay_holes(layered: Layered, tmp_path: Path) -> None:
    path = layered(external=True)
    data = path.with_name("w.bin")
    with open(data, "r+b") as file:
        file.seek(8 << 30)
        file.write(np.full((64, 64), 9, np.float32).tobytes())
        file.truncate(12 << 30)
    proto = onnx.load(path, load_external_data=False)
    for tensor, offset, dims in (
        (proto.graph.initializer[0], 8 << 30, [64, 64]),
        (proto.graph.initializer[1], 9 << 30, [1 << 28]),
    ):
        tensor.dims[:] = dims
        for entry in tensor.external_data:
            entry.value = {"offset": str(offset), "length": str(4 * int(np.prod(dims)))}.get(entry.key, entry.value)
    path.write_bytes(proto.SerializeToString())
    target = tmp_path / "elsewhere"
    target.mkdir()
    saved = load(path, strict=False).save(target / "m.onnx")
    assert saved.data_bytes > 1 << 30
    assert (target / "m.onnx.data").stat().st_size == saved.data_bytes
    assert (target / "m.onnx.data").stat().st_blocks * 512 < 1 << 20
    again = load(target / "m.onnx", strict=False)
    assert float(again.graph.nodes[0].inputs[1].values[0, 0]) == 9
    assert float(again.graph.nodes[1].inputs[1].values[-1]) == 0


@posix
def test_a_link_stays_a_link_and_its_target_is_written(layered: Layered, tmp_path: Path) -> None:
    path = layered()
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "r.onnx").write_bytes(b"old")
    link = tmp_path / "link.onnx"
    link.symlink_to("real/r.onnx")
    load(path).save(link, external=True)
    assert link.is_symlink()
    assert sorted(contents(tmp_path / "real")) == ["r.onnx", "r.onnx.data"]
    assert weights(tmp_path / "real" / "r.onnx") == weights(path)


@posix
def test_a_new_file_is_as_readable_as_others_and_a_replaced_one_as_before(layered: Layered) -> None:
    path = layered()
    model = load(path)
    old = os.umask(0o027)
    try:
        model.save(path.with_name("new.onnx"), external=True)
    finally:
        os.umask(old)
    for name in ("new.onnx", "new.onnx.data"):
        assert stat.S_IMODE(path.with_name(name).stat().st_mode) == 0o640
    path.chmod(0o604)
    model.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_what_is_no_place_for_a_file_is_said(layered: Layered, tmp_path: Path) -> None:
    model = load(layered())
    with pytest.raises(SaveError, match="no such folder"):
        model.save(tmp_path / "missing" / "m.onnx")
    with pytest.raises(SaveError, match="over a folder"):
        model.save(tmp_path)
    if os.name == "posix":
        with pytest.raises(SaveError, match="over a device"):
            model.save("/dev/null")
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(SaveError, match="over a named pipe"):
            model.save(tmp_path / "pipe")
    with pytest.raises(SaveError):
        model.save("bad\0name")
    with pytest.raises(SaveError, match="own data file"):
        load(layered("e.onnx", external=True)).save(tmp_path / "w.bin")
    for name in ("../w.bin", "a/b", "", "out.onnx"):
        with pytest.raises(OptionError, match="no name for a data file"):
            model.save(tmp_path / "out.onnx", external=name)


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_said(layered: Layered, tmp_path: Path) -> None:
    model = load(layered())
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    with pytest.raises(SaveError, match="cannot be saved there"):
        model.save(closed / "m.onnx")


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, at: int, code: int) -> Iterator[list[str]]:
    """Let the `at`-th call that changes or reads a file fail; yields what was called."""
    called: list[str] = []

    def wrap(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            called.append(name)
            if len(called) == at:
                raise OSError(code, os.strerror(code))
            return real(*args, **options)

        return call

    with monkeypatch.context() as patch:
        for name in CALLS:
            if hasattr(os, name):
                patch.setattr(os, name, wrap(name, getattr(os, name)))
        yield called


@pytest.mark.parametrize("external", [None, True], ids=["one file", "with data file"])
@pytest.mark.parametrize("nameless", [True, False], ids=["nameless", "named"])
def test_whatever_call_fails_the_old_or_the_new_model_is_whole(
    layered: Layered, monkeypatch: pytest.MonkeyPatch, external: bool | None, nameless: bool
) -> None:
    path = layered()
    if not nameless:
        monkeypatch.setattr(file_system.NewFile, "_nameless", lambda self: -1)
    load(path).save(path, external=external)
    old = contents(path.parent)
    at, outcomes = 0, set()
    while True:
        at += 1
        model = load(path)
        change_one(model)
        with failing(monkeypatch, at, errno.ENOSPC if at % 2 else errno.EIO) as called:
            try:
                model.save(path)
            except SaveError:
                outcomes.add("failed")
        now = contents(path.parent)
        if now != old:
            assert weights(path)[0][0][0] == 3
            # The old data file may stay: what failed may have been its removal.
            assert set(now) - set(old) <= {"m.onnx.1.data"}
            load(path)
            outcomes.add("new")
            if len(called) < at:
                break
            for name in now:
                path.with_name(name).unlink()
            for name, data in old.items():
                path.with_name(name).write_bytes(data)
        assert at < 200
    assert len(now) == len(old)
    assert outcomes == {"failed", "new"}
    assert at > 8


def test_a_save_that_is_interrupted_leaves_nothing(layered: Layered, monkeypatch: pytest.MonkeyPatch) -> None:
    path = layered()
    model = load(path)
    before = contents(path.parent)

    def interrupted(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.save(path, external=True)
    assert contents(path.parent) == before


def test_short_writes_go_on_where_they_stopped(layered: Layered, monkeypatch: pytest.MonkeyPatch) -> None:
    path = layered()
    model = load(path)
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:1000]))
    model.save(path.with_name("out.onnx"))
    assert path.with_name("out.onnx").read_bytes() == path.read_bytes()


def test_files_are_copied_also_where_the_kernel_cannot(layered: Layered, monkeypatch: pytest.MonkeyPatch) -> None:
    path = layered(external=True)
    model = load(path)

    def refuse(*args: Any) -> int:
        raise OSError(errno.EXDEV, "cross-device")

    monkeypatch.setattr(os, "copy_file_range", refuse, raising=False)
    model.save(path.with_name("out.onnx"))
    assert weights(path.with_name("out.onnx")) == weights(path)


def test_a_data_file_that_was_changed_meanwhile_is_not_copied(layered: Layered) -> None:
    path = layered(external=True)
    model = load(path)
    data = path.with_name("w.bin")
    data.write_bytes(data.read_bytes() + b"more")
    with pytest.raises(Exception, match="changed while it was open"):
        model.save(path.with_name("out.onnx"))
    assert sorted(contents(path.parent)) == ["m.onnx", "w.bin"]
