"""Compiling every kernel before it is wanted, so that the first run of a session is not the one that waits."""

from __future__ import annotations

import importlib
import pkgutil
import time
from dataclasses import dataclass
from typing import Any

from exec import compiled as package
from exec.compiled import toolchain
from exec.progress import Cancel, Progress, check, report


@dataclass(frozen=True, slots=True)
class Warmed:
    """What was done.

    folder    where the kernels are kept; "" where nothing can be written, so that the next process compiles again
    kernels   all there are; compiled, those that were not in the folder
    """

    folder: str
    kernels: int
    compiled: int
    seconds: float


def warm(progress: Progress | None = None, cancel: Cancel | None = None) -> Warmed:
    """Compile what is not in the cache; what is there is read."""
    began = time.perf_counter()
    found = kernels()
    total, fresh = len(found), 0
    for done, kernel in enumerate(found):
        check(cancel, "compiling")
        report(progress, done, total, kernel.__name__)
        fresh += not _found(kernel.compiled)
    report(progress, total, total, "compiled")
    return Warmed(str(toolchain.cache_folder() or ""), total, fresh, time.perf_counter() - began)


def kernels() -> list[toolchain.Kernel]:
    """Every kernel of this package."""
    for info in pkgutil.iter_modules(package.__path__, "exec.compiled."):
        importlib.import_module(info.name)
    return toolchain.KERNELS


def _found(compiled: Any) -> bool:
    """Whether numba has read it from its cache."""
    hits = compiled.stats.cache_hits if hasattr(compiled, "stats") else compiled.cache_hits
    return bool(sum(hits.values()) if isinstance(hits, dict) else hits)
