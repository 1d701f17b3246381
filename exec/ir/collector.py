"""The cyclic garbage collector, kept away from graphs.

A graph of 100,000 nodes is three million objects, all alive and all linked in cycles. Collections while it is built are 2 to 6
times the work itself, and every full one afterwards looks at all of it again for two seconds.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LARGE_GRAPH_NODES = 10_000


@contextmanager
def no_gc() -> Iterator[None]:
    """Run a block without cyclic collections; nests, and restores what was set before."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Frozen:
    """As long as one exists, what was alive when it was made is not looked at by collections; then it is, once.

    The last of them to go collects at once: a large graph gives its memory back when its model is dropped. Where collections are
    off, the caller decides.
    """

    _count = 0

    def __init__(self) -> None:
        Frozen._count += 1
        gc.freeze()

    def __del__(self) -> None:
        Frozen._count -= 1
        if sys.is_finalizing():
            return
        gc.unfreeze()
        if gc.isenabled():
            gc.collect()
        if Frozen._count:
            gc.freeze()
