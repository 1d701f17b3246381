"""What this machine can do, measured once per process: the roofs a node is held against, and the BLAS that numpy loaded."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from exec.threads import blas_threads

GEMM_SIZES = (192, 256, 384, 512, 768)
"""Matrix products of these sides: which one BLAS is best at differs from machine to machine."""
ROUNDS = 3
COPY_BYTES = 64 << 20
CACHE_BYTES = 256 << 10


@dataclass(frozen=True, slots=True)
class Blas:
    """The library behind numpy's matrix products.

    slower_than_cpu  why it is not the fastest this CPU allows, or ""
    """

    name: str
    version: str
    architecture: str
    threads: int
    slower_than_cpu: str


@dataclass(frozen=True, slots=True)
class Machine:
    """Measured rates of one thread, or of as many as were asked for."""

    cpu: str
    threads: int
    gemm_flops_per_s: float
    copy_bytes_per_s: float
    cache_bytes_per_s: float
    blas: Blas


@cache
def machine(threads: int = 1) -> Machine:
    """Measure (0.2 s) and remember."""
    with blas_threads(threads):
        return Machine(cpu_name(), threads, _gemm_rate(), _copy_rate(COPY_BYTES), _copy_rate(CACHE_BYTES), blas())


def _best(call: Callable[[], object], seconds: float) -> float:
    """Shortest duration of `call` in seconds."""
    call()
    best, until = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < until:
        began = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - began)
    return best


def _gemm_rate() -> float:
    """The best of all sizes, in turns: a moment in which something else runs does not lower the roof."""
    best = 0.0
    for _ in range(ROUNDS):
        for size in GEMM_SIZES:
            a = np.full((size, size), 0.5, np.float32)
            out = np.empty_like(a)
            best = max(best, 2 * size**3 / _best(lambda a=a, out=out: np.matmul(a, a, out=out), 0.008))  # type: ignore[misc]
    return best


def _copy_rate(nbytes: int) -> float:
    source = np.ones(nbytes // 4, np.float32)
    target = np.empty_like(source)
    return 2 * nbytes / _best(lambda: np.copyto(target, source), 0.03)


@cache
def blas() -> Blas:
    """Which BLAS numpy loaded, and whether it fits the CPU."""
    from threadpoolctl import threadpool_info

    np.matmul(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32))
    found = [d for d in threadpool_info() if d.get("user_api") == "blas"]
    if not found:
        return Blas("unknown", "", "", 1, "")
    info = found[0]
    architecture = str(info.get("architecture") or "")
    slow = ""
    if "avx512f" in cpu_flags() and architecture.lower() in ("haswell", "zen", "sandybridge", "nehalem", "prescott"):
        slow = (
            f"the CPU has AVX-512, but BLAS loaded its {architecture} kernels: unset OPENBLAS_CORETYPE or set SkylakeX"
        )
    return Blas(str(info.get("internal_api")), str(info.get("version")), architecture, int(info["num_threads"]), slow)


@cache
def cpu_flags() -> frozenset[str]:
    """Instruction sets of the CPU, as far as the system tells."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("flags"):
                return frozenset(line.split(":", 1)[1].split())
    except OSError:
        pass
    return frozenset()


def cpu_name() -> str:
    """The CPU's name for reports."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
