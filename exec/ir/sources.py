"""The bytes a model was read from: a file that stays open, or bytes in memory."""

from __future__ import annotations

import errno
import os
import weakref
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from exec.budget import bytes_text, exceeded
from exec.errors import UnreadableModel
from exec.ir import fs

MAP_ABOVE = 64 << 20
"""Files up to this size are read, not mapped: a mapped file that somebody else cuts short kills the process (SIGBUS)."""
CACHE_LINE = 64
MAP_WHOLE_UP_TO = 2 << 30
"""Larger files get one mapping per tensor, so that the address space a model takes is what it uses."""


class Source(Protocol):
    """Where payloads lie."""

    size: int

    def read(self, offset: int, length: int) -> bytes: ...

    def view(self, offset: int, length: int) -> memoryview: ...

    def copy_to(self, fd: int, offset: int, length: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Place:
    """A range of an open file."""

    source: FileSource
    offset: int
    length: int


class MemorySource:
    """Bytes that are in memory anyway."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def read(self, offset: int, length: int) -> bytes:
        return self._data[offset : offset + length]

    def view(self, offset: int, length: int) -> memoryview:
        return memoryview(self._data)[offset : offset + length]

    def copy_to(self, fd: int, offset: int, length: int) -> None:
        fs.write_all(fd, self.view(offset, length))


class FileSource:
    """A regular file, open as long as this object lives; it can be renamed over and deleted meanwhile, but not changed in place."""

    def __init__(self, fd: int, path: str) -> None:
        self.path = path
        self._fd = fd
        self._close = weakref.finalize(self, os.close, fd)
        status = os.fstat(fd)
        self.size = status.st_size
        self.identity = (status.st_dev, status.st_ino)
        self.stamp = (status.st_size, status.st_mtime_ns)
        self._whole: memoryview | None = None

    def read(self, offset: int, length: int) -> bytes:
        return fs.read_at(self._fd, offset, length)

    def read_into(self, offset: int, view: memoryview) -> None:
        """Fill `view` from `offset` on: nothing is mapped, nothing is kept."""
        fs.read_into(self._fd, offset, view)

    def view(self, offset: int, length: int) -> memoryview:
        """A read-only view on a range that lies inside the file."""
        self.check_unchanged()
        if not length:
            return memoryview(b"")
        if self.size <= MAP_ABOVE:
            return self._aligned(offset, length)
        if self.size > MAP_WHOLE_UP_TO:
            return self._mapped(offset, length)
        if self._whole is None:
            self._whole = self._mapped(0, self.size)
        return self._whole[offset : offset + length]

    def _aligned(self, offset: int, length: int) -> memoryview:
        """A copy that begins at a cache line: bytes objects do not, and misaligned matrices cost BLAS a copy each time."""
        buffer = np.empty(length + CACHE_LINE, np.uint8)
        start = -buffer.ctypes.data % CACHE_LINE
        view = buffer[start : start + length].data
        fs.read_into(self._fd, offset, view)
        return view.toreadonly()

    def _mapped(self, offset: int, length: int) -> memoryview:
        try:
            return fs.map_range(self._fd, offset, length)
        except OSError as error:
            if error.errno != errno.ENOMEM:
                raise
            raise exceeded("bytes_alive", bytes_text(length), "what the system gives", f"file {self.path}") from error

    def copy_to(self, fd: int, offset: int, length: int) -> None:
        self.check_unchanged()
        fs.copy_range(self._fd, offset, fd, length)
        self.check_unchanged()

    def check_unchanged(self) -> None:
        """Raise if somebody wrote into the file since it was opened."""
        status = os.fstat(self._fd)
        if (status.st_size, status.st_mtime_ns) != self.stamp:
            raise UnreadableModel(
                "the file was changed while it was open",
                str(self.path),
                hint="open it again; save to another path to be safe",
            )
