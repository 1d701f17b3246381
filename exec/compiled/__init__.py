"""Compiled twins of the hot kernels: faster where numba is installed, never needed.

Kernels here get addresses and whole numbers, no arrays: one signature each, compiled once, cached on disk, called in 0.2 µs. Nothing in
this package may be imported before `available()` has said yes; importing it imports numba.
"""

from __future__ import annotations

import importlib.util
from functools import cache


@cache
def available() -> bool:
    """Whether numba is installed; asking does not import it."""
    return importlib.util.find_spec("numba") is not None
