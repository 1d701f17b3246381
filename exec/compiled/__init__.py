"""Compiled twins of the hot kernels: faster where numba is installed, never needed."""

from __future__ import annotations

import importlib.util
from functools import cache


@cache
def available() -> bool:
    """Whether numba is installed; asking does not import it."""
    return importlib.util.find_spec("numba") is not None
