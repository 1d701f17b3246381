"""Arrays from .npy and .npz files: what their headers say is looked at before an array exists, and nothing is unpickled."""

from __future__ import annotations

import io
import lzma
import os
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO

import numpy as np

from exec.arrays import Array
from exec.budget import bytes_text, default_limits, exceeded
from exec.errors import FeedError
from exec.footprint import allowance
from exec.ir.fs import open_file

SUFFIX = ".npy"
_HEADER = 1 << 16
"""Bytes a header may take: numpy reads 10,000, and asks for as many as the file says."""
_NO_HEADER = (SyntaxError, tokenize.TokenError, TypeError, OverflowError, MemoryError)
"""What numpy raises for headers that are none, beside ValueError."""


class ArrayFile:
    """An open file of arrays.

    names  of an .npz file's arrays; ("",) for an .npy file, whose one array has none
    """

    def __init__(self, file: IO[bytes], path: str) -> None:
        self._file, self._path = file, path
        self._size = os.fstat(file.fileno()).st_size
        self._zip = zipfile.ZipFile(file) if file.read(2) == b"PK" else None
        file.seek(0)
        self.names: tuple[str, ...] = ("",)
        self._seen: set[str] = set()
        self._unpacked = 0
        if self._zip is not None:
            self.names = tuple(dict.fromkeys(name.removesuffix(SUFFIX) for name in self._zip.NameToInfo))

    @property
    def is_single(self) -> bool:
        """Whether this is an .npy file."""
        return self._zip is None

    def __getitem__(self, name: str) -> Array:
        """Read one array; raises ValueError for what is no array, BudgetExceeded for more in all than the file lets expect."""
        if self._zip is None:
            return self._read(self._file, self._size, name)
        entry = name + SUFFIX if name + SUFFIX in self._zip.NameToInfo else name
        with self._zip.open(entry) as packed:
            return self._read(packed, self._zip.getinfo(entry).file_size, name)

    def _read(self, file: IO[bytes], held: int, name: str) -> Array:
        wanted = _declared_bytes(file)
        if wanted > held:
            raise ValueError(
                f"{name or 'its array'} should have {bytes_text(wanted)}, and the file holds {bytes_text(held)}"
            )
        # Each array may be small for its file and all of them too much.
        self._unpacked += 0 if name in self._seen else wanted
        self._seen.add(name)
        most = allowance(default_limits(), self._size)
        if most is not None and self._unpacked > most:
            raise exceeded("bytes_alive", bytes_text(self._unpacked), bytes_text(most), f"{self._path} {name}".strip())
        file.seek(0)
        found = np.lib.format.read_array(file, allow_pickle=False)
        return np.asarray(found)


def _declared_bytes(file: IO[bytes]) -> int:
    """The bytes of the array whose header begins here."""
    head = io.BytesIO(file.read(_HEADER))
    version = np.lib.format.read_magic(head)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        shape, _, dtype = read(head)
    except _NO_HEADER as error:
        raise ValueError("its header is not one of an array") from error
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are not read: they could run code")
    if any(isinstance(dim, bool) or not 0 <= dim < 1 << 63 for dim in shape):
        raise ValueError(f"no array has the shape {shape}")
    # Elements of no bytes are none that a file could hold in any number.
    return int(prod(shape)) * max(int(dtype.itemsize), 1)


@contextmanager
def open_arrays(path: str | Path, what: str, hint: str) -> Iterator[ArrayFile]:
    """An open file of arrays; what cannot be read is a FeedError that begins with `what` and ends with `hint`."""
    try:
        with os.fdopen(open_file(path), "rb") as file:
            yield ArrayFile(file, str(path))
    except FileNotFoundError as error:
        raise FeedError(what, str(path), "there is no such file", hint) from error
    except (
        OSError,
        ValueError,
        EOFError,
        KeyError,
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        why = str(error.strerror if isinstance(error, OSError) and error.strerror else error)
        raise FeedError(what, str(path), why, hint) from error
