"""Ops whose result is as large as a number says: the size is known before the array is made, and asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from exec.budget import bytes_text, default_limits, element_count, exceeded

_SMALL = 1 << 26  # bytes nobody is asked about: the answer costs more than a small result


def fitting(shape: Iterable[Any], dtype: Any) -> tuple[int, ...]:
    """`shape` as Python integers, once an array of it is known to be within the limit on memory.

    Eighteen bytes of a model can name a shape of terabytes; numpy would reserve it and the first write stop the process.
    """
    dims = tuple(int(dim) for dim in shape)
    size = element_count(dims) * np.dtype(dtype).itemsize
    if size > _SMALL:
        limit = default_limits().bytes_alive
        if limit is not None and size > limit:
            raise exceeded("bytes_alive", bytes_text(size), bytes_text(limit), "")
    return dims
