"""Linear algebra beyond products."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.kernels.registry import kernel
from exec.kernels.widen import widened


@kernel("Det", since=11)
@widened
def det(x: Array, /) -> Array:
    """The determinant of the last two axes, by LU factors; 1 of a matrix without rows."""
    return np.asarray(np.linalg.det(x), x.dtype)
