"""Running sums and products."""

from __future__ import annotations

from typing import Any

import numpy as np

from exec.arrays import Array
from exec.kernels.registry import kernel
from exec.kernels.widen import widened

_LONG_STEP = 512  # elements


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
    y = np.empty(x.shape, x.dtype)
    out = np.moveaxis(y, axis, 0)
    out = out[::-1] if reverse else out
    if exclusive:
        out[:1] = operation.identity
        _accumulate(operation, line[:-1], out[1:])
    else:
        _accumulate(operation, line, out)
    return y


def _accumulate(operation: Any, line: Array, out: Array) -> None:
    """Into `out` along the first axis: step by step where a step is long enough to be worth a call."""
    if not line.size or line[0].size < _LONG_STEP:
        operation.accumulate(line, axis=0, out=out)
        return
    out[0] = line[0]
    for k in range(1, len(line)):
        operation(out[k - 1], line[k], out=out[k])
