"""Running sums and products."""

from __future__ import annotations

from typing import Any

import numpy as np

from exec.arrays import Array
from exec.kernels.registry import kernel
from exec.kernels.widen import widened


@kernel("CumSum", since=11)
@widened
def cumsum(x: Array, axis: Array, /, *, exclusive: int = 0, reverse: int = 0) -> Array:
    """Σ of the elements up to each along `axis`, itself included or (exclusive=1) not; reverse=1: from the end."""
    return _running(np.add, x, int(axis.reshape(())), exclusive, reverse)


@kernel("CumProd", since=26)
@widened
def cumprod(x: Array, axis: Array, /, *, exclusive: int = 0, reverse: int = 0) -> Array:
    """Π of the elements up to each along `axis`, itself included or (exclusive=1) not; reverse=1: from the end."""
    return _running(np.multiply, x, int(axis.reshape(())), exclusive, reverse)


def _running(operation: Any, x: Array, axis: int, exclusive: int, reverse: int) -> Array:
    line = np.moveaxis(x, axis, 0)
    line = line[::-1] if reverse else line
    if exclusive:
        y = np.full_like(line, operation.identity)
        operation.accumulate(line[:-1], axis=0, out=y[1:])
    else:
        y = operation.accumulate(line, axis=0, dtype=x.dtype)
    return np.moveaxis(y[::-1] if reverse else y, 0, axis)
