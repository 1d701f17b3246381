"""How many threads BLAS may use while a session runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def default_threads() -> int:
    """One less than the cores this process may use, at least one: the rest of the machine stays alive."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, cores - 1)


@cache
def _pools() -> tuple[Any, ...]:
    """BLAS libraries loaded by now; looked up once, since looking takes milliseconds."""
    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """Let BLAS use `count` threads inside; asks before it sets, because setting restarts its workers."""
    changed = [(pool, n) for pool in _pools() if (n := pool.get_num_threads()) != count]
    for pool, _ in changed:
        pool.set_num_threads(count)
    try:
        yield
    finally:
        for pool, before in changed:
            pool.set_num_threads(before)
