"""Was the machine quiet while we measured?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exec.progress import Cancel, Progress, check, report

SIZE = 96
"""Side of the fixed matrix product: a few tens of microseconds."""

MOST_SPREAD = 1.35
"""Median over minimum of the fixed product up to which a machine counts as quiet."""

LEAST_SHARE = 0.92
"""Part of the wall time the process must have had a CPU."""


@dataclass(frozen=True, slots=True)
class Noise:
    """What the fixed matrix product between the runs took, and how much of the time the process was running.

    quiet   whether the figures may be compared with others
    reason  why not, or ""
    """

    gemm_min_ns: int
    gemm_median_ns: int
    gemm_p95_ns: int
    cpu_share: float
    quiet: bool
    reason: str


class NoiseCheck:
    """Call `probe` between runs and `running` around what is measured, then ask for the `verdict`."""

    def __init__(self) -> None:
        self._a = np.full((SIZE, SIZE), 0.5, np.float32)
        self._out = np.empty_like(self._a)
        self._times: list[int] = []
        self._wall = self._cpu = 0
        for _ in range(3):
            np.matmul(self._a, self._a, out=self._out)

    def probe(self) -> None:
        """Time the fixed product once."""
        began = time.perf_counter_ns()
        np.matmul(self._a, self._a, out=self._out)
        self._times.append(time.perf_counter_ns() - began)

    def begin(self) -> None:
        """Measured work begins."""
        self._began = (time.perf_counter_ns(), time.thread_time_ns())

    def end(self) -> None:
        """Measured work ends."""
        self._wall += time.perf_counter_ns() - self._began[0]
        self._cpu += time.thread_time_ns() - self._began[1]

    def verdict(self) -> Noise:
        """What the probes say."""
        return judged(self._times, self._cpu / self._wall if self._wall else 1.0)


PROBE_SECONDS = 0.25
PAUSE_SECONDS = 0.5


def wait_until_quiet(deadline: float, progress: Progress | None = None, cancel: Cancel | None = None) -> Noise:
    """Look at the machine until it is quiet twice in a row, or until `deadline` on `time.perf_counter`; the last verdict."""
    began, calm = time.perf_counter(), 0
    while True:
        check(cancel, "waiting for a quiet machine")
        found = _look(PROBE_SECONDS)
        calm = calm + 1 if found.quiet else 0
        now = time.perf_counter()
        if calm > 1 or now >= deadline:
            return found
        report(progress, int(now - began), int(deadline - began), "waiting for a quiet machine, s")
        if not found.quiet:
            time.sleep(min(PAUSE_SECONDS, max(deadline - now, 0.0)))


def _look(seconds: float) -> Noise:
    """The verdict on nothing but the probes themselves."""
    noise, until = NoiseCheck(), time.perf_counter() + seconds
    noise.begin()
    while time.perf_counter() < until:
        noise.probe()
    noise.end()
    return noise.verdict()


def judged(times: Sequence[int], cpu_share: float) -> Noise:
    """The verdict on probe times in ns and the share of wall time the measuring thread ran."""
    ordered = sorted(times) or [0]
    low, median, high = ordered[0], ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    reason = ""
    if cpu_share < LEAST_SHARE:
        reason = f"this thread had a CPU only {cpu_share:.0%} of the time: other work is running, figures are too high"
    elif low and median / low > MOST_SPREAD:
        reason = f"a fixed matrix product took {low / 1e3:.0f} to {high / 1e3:.0f} µs between runs"
    return Noise(low, median, high, cpu_share, not reason, reason)
