"""Files that lie beside models: recipes, ranges, baselines, profiles, settings. They come from strangers as models do."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from exec.ir.fs import open_file

T = TypeVar("T")
MOST_BYTES = 16 << 20
"""Of a file that people or this workbench write."""


class OddFileError(OSError):
    """A file that is there and is not read: too large, or nested too deeply."""


def read_small(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """The bytes of a regular file; raises OSError for a pipe, a device, or more than `most` bytes."""
    with os.fdopen(open_file(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OddFileError(errno.EFBIG, f"it has {size:,} bytes, {most:,} are read", str(path))
        return file.read(most)


def read_decoded(path: str | Path, decode: Callable[[bytes], T], most: int = MOST_BYTES) -> T:
    """What `decode` makes of a file; a decoder that runs out of stack gives an OSError like all that cannot be read."""
    data = read_small(path, most)
    try:
        return decode(data)
    except RecursionError:
        raise OddFileError(errno.EINVAL, "it is nested too deeply", str(path)) from None
