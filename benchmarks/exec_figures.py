"""What a session costs beside latency: opening it, memory, timing inside, and narrow twins of a model."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import exec as bench

MOST_OPENING, MOST_MEMORY, MOST_TIMING, MOST_HALF = 2.0, 2.0, 1.03, 1.5
MOST_INT8 = {"compiled": 1.3, "numpy": 1.8}


@dataclass(frozen=True)
class Figure:
    """One measured ratio beside what it may be."""

    model: str
    what: str
    ours: str
    other: str
    ratio: float
    most: float


def figures(paths: Sequence[str], engines: Sequence[str], seconds: float, dims: Mapping[str, int]) -> int:
    """Print every figure of every model; 1 if one is above what it may be."""
    failed = False
    print("| model | what | ours | beside | ratio | at most | |\n|---|---|---:|---:|---:|---:|---|")
    for path in paths:
        for f in of_model(path, engines, seconds, dims):
            failed |= f.ratio > f.most
            late = "**above**" if f.ratio > f.most else ""
            print(
                f"| {f.model} | {f.what} | {f.ours} | {f.other} | {f.ratio:.2f} | {'' if f.most == math.inf else f.most} | {late} |",
                flush=True,
            )
    return int(failed)


def of_model(path: str, engines: Sequence[str], seconds: float, dims: Mapping[str, int]) -> Iterator[Figure]:
    """Opening, memory and timing; then twins in float16 and int8, where the model is float32."""
    name = bench.title(path)
    for engine in engines:
        ours, theirs = (in_a_process(kind, path, dims) for kind in (engine, "onnxruntime"))
        for what, most in (("open", MOST_OPENING), ("open and first run", math.inf)):
            a, b = ours[what], theirs[what]
            yield Figure(name, f"{what}, {engine}", f"{a:.0f} ms", f"{b:.0f} ms", a / b, most)
        a, b = ours["peak"], theirs["peak"]
        yield Figure(name, f"peak memory, {engine}", f"{a:.0f} MB", f"{b:.0f} MB", a / b, MOST_MEMORY)
    yield from _timing(name, path, engines, seconds, dims)
    yield from _twins(name, path, engines, seconds, dims)


# Opening and memory: a process each, so that neither warms the other up.


def in_a_process(engine: str, path: str, dims: Mapping[str, int]) -> dict[str, float]:
    """Minimum of three processes; the first fills the caches of files and kernels."""
    found: list[dict[str, float]] = []
    for _ in range(3):
        command = [sys.executable, "-m", "benchmarks.exec_figures", engine, path, json.dumps(dict(dims))]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        found.append(json.loads(done.stdout))
    return {what: min(f[what] for f in found) for what in found[0]}


def child(engine: str, path: str, dims: Mapping[str, int]) -> dict[str, float]:
    """Milliseconds of opening, and of opening and the first run beyond a later one; MB at the peak, imports included."""
    from threadpoolctl import threadpool_limits

    from exec.feeds import make_feeds
    from exec.ir import load
    from exec.session import Session

    feeds = make_feeds(load(path), dims=dims).feeds
    run: Callable[[Any], Any]
    if engine == "onnxruntime":
        import onnxruntime

        assert onnxruntime.__version__
        began = time.perf_counter()
        theirs = bench.onnxruntime_session(path, 1)
        opened = time.perf_counter()
        run = partial(theirs.run, None)
    else:
        if engine == "compiled":
            from exec.compiled import narrow, toolchain

            assert narrow.__doc__
            assert toolchain.KERNELS[0].compiled  # numba's own start is that of the process, not of a session
        began = time.perf_counter()
        session = Session(load(path), kernels=engine, threads=1)
        opened = time.perf_counter()
        run = session.run
    with threadpool_limits(1):
        run(feeds)
        first = time.perf_counter()
        run(feeds)
        later = time.perf_counter()
    return {"open": 1e3 * (opened - began), "open and first run": 1e3 * (2 * first - began - later), "peak": peak_mb()}


def peak_mb() -> float:
    """The most memory that this process has had; the system's own count starts with the parent's."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e6
    import resource

    unit = 1 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


# In this process: timing, and narrow twins.


def _timing(name: str, path: str, engines: Sequence[str], seconds: float, dims: Mapping[str, int]) -> Iterator[Figure]:
    """A run whose steps are timed beside one whose are not."""
    from exec.engines.embedded import timed_run
    from exec.feeds import make_feeds
    from exec.ir import load
    from exec.session import Session

    feeds = make_feeds(load(path), dims=dims).feeds
    for engine in engines:
        session = Session(load(path), kernels=engine, threads=1)
        session.run(feeds)
        with session.ready(feeds) as (plan, given):
            laps = bench.interleaved(
                {"plain": partial(plan.run, given), "timed": partial(timed_run, plan, given)}, seconds
            )
        plain, timed = min(laps["plain"]), min(laps["timed"])
        yield Figure(name, f"timed run, {engine}", f"{timed:.2f} ms", f"{plain:.2f} ms", timed / plain, MOST_TIMING)


def _twins(name: str, path: str, engines: Sequence[str], seconds: float, dims: Mapping[str, int]) -> Iterator[Figure]:
    """The model in float16 and in int8 beside itself in float32."""
    import workbench as wb
    from exec.errors import BenchError
    from exec.feeds import make_feeds
    from passes.convert.float16 import to_float16

    model = wb.load(path)
    feeds = make_feeds(model, dims=dims).feeds
    twins: dict[str, Any] = {}
    for kind, make in (
        ("float16", lambda: to_float16(model).model),
        ("int8", lambda: wb.quantize(model, "static", [feeds]).model),
    ):
        try:
            twins[kind] = make()
        except BenchError as error:
            print(f"{name}: no {kind} twin: {error.what}", file=sys.stderr)
    for engine in engines:
        runs = {"float32": partial(wb.Session(model, kernels=engine, threads=1).run, feeds)}
        for kind, twin in twins.items():
            session = wb.Session(twin, kernels=engine, threads=1)
            types = {i.name: i.dtype for i in twin.inputs}
            runs[kind] = partial(session.run, {n: v.astype(types[n], copy=False) for n, v in feeds.items()})
        for run in runs.values():
            run()
        laps = bench.interleaved(runs, seconds)
        wide = min(laps["float32"])
        for kind in twins:
            narrow, most = min(laps[kind]), MOST_HALF if kind == "float16" else MOST_INT8[engine]
            yield Figure(name, f"{kind}, {engine}", f"{narrow:.2f} ms", f"{wide:.2f} ms", narrow / wide, most)


if __name__ == "__main__":
    engine, path, dims = sys.argv[1:]
    print(json.dumps(child(engine, path, json.loads(dims))))
