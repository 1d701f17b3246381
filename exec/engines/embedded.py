"""The executor of this package behind the engine protocol."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from exec.arrays import Value
from exec.engines.attribution import Attribution
from exec.noise import NoiseCheck
from exec.plan import Plan
from exec.progress import Cancel, Progress, check, report
from exec.session import Session
from exec.threads import blas_threads
from exec.timing import Profile, finished

FEWEST_RUNS = 3


class EmbeddedEngine:
    """A `Session` that can be timed."""

    name = "embedded"

    def __init__(
        self, model: Any, *, threads: int | None = None, session: Session | None = None, **options: Any
    ) -> None:
        self.session = Session(model, threads=threads, **options) if session is None else session
        self.model = model

    def run(self, feeds: Mapping[str, Value], outputs: Sequence[str] | None = None) -> dict[str, Value]:
        """The wanted values by name."""
        return self.session.run(feeds, outputs)

    def values(
        self, feeds: Mapping[str, Value], names: Sequence[str], budget_bytes: int | None = None
    ) -> Iterator[tuple[str, Value]]:
        """The named values, one at a time: a run stops after each."""
        return self.session.values(feeds, names)

    def measure(
        self,
        feeds: Mapping[str, Value],
        runs: int,
        *,
        seconds: float | None = None,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> Profile:
        """Run timed and untimed in turn."""
        session, noise = self.session, NoiseCheck()
        with session.ready(feeds, cancel=cancel) as (plan, given), blas_threads(session.threads):
            with np.errstate(all="ignore"):
                plan.run(given, cancel)
                laps: list[list[int]] = []
                walls: list[int] = []
                until = None if seconds is None else time.perf_counter() + seconds
                while len(laps) < runs and (until is None or len(laps) < FEWEST_RUNS or time.perf_counter() < until):
                    check(cancel, "the profile")
                    report(progress, len(laps), runs, "profiling")
                    noise.probe()
                    session.renew()
                    noise.begin()
                    began = time.perf_counter_ns()
                    plan.run(given)
                    walls.append(time.perf_counter_ns() - began)
                    session.renew()
                    laps.append(timed_run(plan, given))
                    noise.end()
            report(progress, len(laps), runs, "profiled")
            rows = Attribution(session.program, session.trace_of(given), plan).rows(np.asarray(laps, np.int64))
            return finished(
                rows,
                engine=self.name,
                kernels=session.kernels,
                threads=session.threads,
                runs=len(laps),
                wall_ns=int(np.median(walls)),
                peak_bytes=max(plan.live_bytes, default=0),
                weight_bytes=plan.weight_bytes,
                noise=noise.verdict(),
                notes=byte_notes(session),
            )


BYTES = frozenset(("QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger", "DequantizeLinear", "QGemm"))


def byte_notes(session: Session) -> tuple[str, ...]:
    """What the times of a model in bytes are worth."""
    if not any(operation.op in BYTES for operation in session.program.operations):
        return ()
    ways = "are products of bytes" if session.kernels == "compiled" else "ride on floats"
    return (
        f"int8: this engine's integers {ways}; another runtime's times differ, so decide by the one you ship (--engine onnxruntime)",
    )


def timed_run(plan: Plan, given: Mapping[int, Value]) -> list[int]:
    """One run; the nanoseconds of each step."""
    clock = time.perf_counter_ns
    marks = [0] * (len(plan.steps) + 1)
    plan.feed(given)
    marks[0] = clock()
    for k, step in enumerate(plan.steps, 1):
        step()
        marks[k] = clock()
    plan.collect()
    return [after - before for before, after in pairwise(marks)]
