"""Arrays from files of strangers: nothing hangs, unpickles, or unpacks to more than the file lets expect."""

from __future__ import annotations

import io
import os
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exec.arrayfile import open_arrays
from exec.budget import Limits, use_limits
from exec.errors import BenchError, BudgetExceeded, FeedError

WHAT, HINT = "the arrays cannot be read", "an .npz file is needed"


def header(shape: tuple[int, ...], dtype: str = "<f4") -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": dtype, "fortran_order": False, "shape": shape})
    return out.getvalue()


def npy(path: Path) -> None:
    path.write_bytes(header((1 << 40,)) + b"\0" * 16)


def bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as entry:
        entry.write(header((160, 1 << 18)))
        for _ in range(160):
            entry.write(b"\0" * (1 << 20))


def objects(path: Path) -> None:
    np.savez(path, x=np.array([{}], dtype=object))


def text_entry(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x", "no array")


def damaged(path: Path) -> None:
    out = io.BytesIO()
    np.savez(out, x=np.arange(1000))
    data = bytearray(out.getvalue())
    data[1000:1020] = b"\xff" * 20
    path.write_bytes(data)


def headed(text: str, rest: bytes = b"") -> Callable[[Path], object]:
    """An .npy file whose header says `text`."""
    return lambda path: path.write_bytes(b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text.encode() + rest)


def described(dtype: str, shape: str) -> Callable[[Path], object]:
    return headed(f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}}}", b"\0" * 64)


def packed_badly(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("x.npy", header((2,)) + b"\0" * 8)
    data = bytearray(path.read_bytes())
    data[45:60] = b"\xff" * 15
    path.write_bytes(data)


def pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "says"),
    [(npy, "the file holds"), (objects, "Python objects"), (text_entry, "magic"), (damaged, "CRC"), (pipe, "named pipe"), (lambda path: path.mkdir(), "folder"),
     (lambda path: path.write_bytes(b""), "EOF"), (lambda path: path.write_bytes(b"PK\x03\x04rest"), "zip"), (lambda path: None, "no such file")],
)  # fmt: skip
def test_what_is_no_array_is_a_feed_error(make: Callable[[Path], Any], says: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    make(path)
    with pytest.raises(FeedError, match=says) as raised, open_arrays(path, WHAT, HINT) as found:
        found[found.names[0]]
    assert raised.value.what == WHAT
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    ("make", "says"),
    [(headed("(" * 5000), "header"), (headed("{'shape': (1L, "), "header"), (headed("  a\n b\n   c\n d"), "header"), (headed("-" * 5000 + "1"), "header|recursion"),
     (lambda path: path.write_bytes(b"\x93NUMPY\2\0\xff\xff\xff\xff{"), "EOF"), (described("'<f4'", "(True,)"), "shape"), (described("'<f4'", f"(0, {1 << 80})"), "shape"),
     (described("'<f4'", "(-1, -1)"), "shape"), (described("'|V0'", f"({1 << 70},)"), "shape"), (described("'|V0'", f"({1 << 40},)"), "the file holds"), (described("'<U0'", "(70000,)"), "the file holds"),
     (described("[('a', '<f4'), ('b', '|O')]", "(1,)"), "Python objects"), (described("[1]", "(1,)"), "descr"), (packed_badly, "Corrupt")],
)  # fmt: skip
def test_a_header_nobody_wrote_is_a_feed_error(make: Callable[[Path], Any], says: str, tmp_path: Path) -> None:
    make(tmp_path / "x.np")
    with pytest.raises(FeedError, match=says), open_arrays(tmp_path / "x.np", WHAT, HINT) as found:
        found[found.names[0]]


def test_many_small_bombs_are_counted_together(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez_compressed(path, *[np.zeros((60, 1 << 18), np.float32)] * 6)
    with pytest.raises(BudgetExceeded, match="--max-memory"), open_arrays(path, WHAT, HINT) as found:
        assert sum(found[name].nbytes for name in found.names) == 0
    with open_arrays(path, WHAT, HINT) as found:
        assert all(found["arr_3"].nbytes == 60 << 20 for _ in range(6))  # one array, read again and again


def test_ten_thousand_arrays_are_found_at_once(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        for i in range(10_000):
            archive.writestr(f"x{i}.npy", header((1,)) + b"\0" * 4)
    with open_arrays(tmp_path / "x.npz", WHAT, HINT) as found:
        assert len(found.names) == 10_000
        began = time.process_time()
        for name in found.names[-200:]:
            assert found[name].shape == (1,)
        assert time.process_time() - began < 1


def test_what_unpacks_to_far_more_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    bomb(path)
    assert path.stat().st_size < 1 << 19
    with pytest.raises(BudgetExceeded, match="--max-memory"), open_arrays(path, WHAT, HINT) as found:
        found["x"]
    use_limits(Limits(growth=None))
    try:
        with open_arrays(path, WHAT, HINT) as found:
            assert found["x"].shape == (160, 1 << 18)
    finally:
        use_limits(Limits())


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "float16", "<U3"])
def test_what_numpy_writes_is_read_back(dtype: str, tmp_path: Path) -> None:
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", first=array, second=array.T)
    np.savez_compressed(
        tmp_path / "b.npz", **{"odd/name": np.asfortranarray(array), "none": array[:0], "one": array[0, 0, 0]}
    )
    with open_arrays(tmp_path / "a.npy", WHAT, HINT) as found:
        assert found.is_single
        assert np.array_equal(found[""], array)
    with open_arrays(tmp_path / "a.npz", WHAT, HINT) as found:
        assert found.names == ("first", "second")
        assert np.array_equal(found["second"], array.T)
    with open_arrays(tmp_path / "b.npz", WHAT, HINT) as found:
        assert np.array_equal(found["odd/name"], array)
        assert found["none"].shape == (0, 3, 4)
        assert found["one"] == array[0, 0, 0]


def test_an_error_of_the_reader_is_its_own(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(3))
    with pytest.raises(BenchError, match="mine"), open_arrays(tmp_path / "a.npy", WHAT, HINT):
        raise BenchError("mine")
