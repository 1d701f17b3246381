"""Memory that is no longer needed, given back before the next stretch of work takes its own."""

from __future__ import annotations

import ctypes
import gc
import sys


def give_back() -> None:
    """Collect cycles (a plan is one, of buffers and calls), and let the C library return what lies free in its heap, where it can."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
        if trim is not None:
            trim(0)
