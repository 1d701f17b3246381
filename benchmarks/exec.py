"""The embedded executor beside onnxruntime: latency, correctness, choices of kernels, and what else a session costs.

    python benchmarks/exec.py [MODEL.onnx …]           the table; the samples when no model is given, --fetched for benchmarks/models.py's
    python benchmarks/exec.py --random 200             every kernel that can do a random shape, against the one that is chosen
    python benchmarks/exec.py --figures MODEL.onnx …   opening, memory, timing, float16 and int8 beside float32

One thread each, in one process, runs interleaved. A ratio is of minima, ours over onnxruntime's; the difference is the largest one, as a
share of the output's range, to onnxruntime with or without its optimizer, whichever is nearer: the two differ on some models.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

# This file has the name of the package that it measures, so its folder must not be searched first.
_HERE = Path(__file__).resolve().parent
sys.path[:] = [str(_HERE.parent), *(p for p in sys.path if Path(p or ".").resolve() != _HERE)]

from workbench.cli.blas import choose_kernel  # noqa: E402

choose_kernel()  # before numpy is imported

ENGINES = ("numpy", "compiled")
Run = Callable[[], Sequence[Any]]


@dataclass
class Row:
    """One model: milliseconds by engine, the largest difference to onnxruntime, and what went wrong, or ""."""

    model: str
    best_ms: dict[str, float] = field(default_factory=dict)
    median_ms: dict[str, float] = field(default_factory=dict)
    difference: dict[str, float] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)

    def ratio(self, engine: str) -> float | None:
        """Ours over onnxruntime's; None where it is wrong or did not run."""
        if engine in self.wrong or engine not in self.best_ms:
            return None
        return self.best_ms[engine] / self.best_ms["onnxruntime"]


def onnxruntime_session(path: str, threads: int, *, optimized: bool = True) -> Any:
    """An InferenceSession whose idle threads take no CPU from us."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def interleaved(runs: Mapping[str, Callable[[], Any]], seconds: float, least: int = 3) -> dict[str, list[float]]:
    """Milliseconds of each run, taken in turn for `seconds`."""
    laps: dict[str, list[float]] = {name: [] for name in runs}
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(laps[next(iter(runs))]) < least:
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            laps[name].append(1e3 * (time.perf_counter() - began))
    return laps


def tolerance(model: Any) -> float:
    """What arithmetic may change over a whole model: wider for narrow floats, and for bytes, whose steps add up."""
    import numpy as np

    from passes.base import Safety

    ops = {n.op for n in model.graph.nodes}
    if "DequantizeLinear" in ops or any(op.endswith("Integer") for op in ops):
        return 2e-2
    narrow = any(getattr(t, "dtype", None) == np.float16 for t in model.graph.tensors().values())
    return Safety.ROUNDING.tolerance(np.dtype(np.float16 if narrow else np.float32), whole=True)


LAST_DIGITS = 1e-6
"""What float32 tells near 1: onnxruntime's sigmoid is exact to that, however small the numbers are that a model gives."""


def apart(found: Any) -> float:
    """The largest difference: as a share of the range, or as it is where it is next to nothing."""
    return float(found.max_abs if found.max_abs <= LAST_DIGITS else found.max_of_range)


def title(path: str) -> str:
    """The file's name, with its folder's where it says little."""
    stem = Path(path).stem
    return stem if len(stem) > 5 else f"{Path(path).parent.name}/{stem}"


def measured(path: str, engines: Sequence[str], threads: int, seconds: float, dims: Mapping[str, int]) -> Row:
    """One row of the table."""
    import workbench as wb
    from exec.feeds import make_feeds
    from exec.metrics import difference

    row = Row(title(path))
    model = wb.load(path)
    feeds = make_feeds(model, dims=dims).feeds
    theirs = onnxruntime_session(path, threads)
    wants = [theirs.run(None, feeds), onnxruntime_session(path, threads, optimized=False).run(None, feeds)]
    runs: dict[str, Callable[[], Any]] = {"onnxruntime": lambda: theirs.run(None, feeds)}
    for engine in engines:
        session: Any = wb.Session(model, threads=threads, kernels=engine)
        got = list(session.run(feeds).values())
        found = [[difference(w, g) for w, g in zip(want, got, strict=True)] for want in wants]
        nearest = min(found, key=lambda ds: max(map(apart, ds)))
        row.difference[engine] = max(map(apart, nearest))
        if any(d.note or d.mismatches for d in nearest) or row.difference[engine] > tolerance(model):
            row.wrong[engine] = f"differs by {row.difference[engine]:.1e}"
        runs[engine] = lambda session=session: session.run(feeds)
    for name, laps in interleaved(runs, seconds).items():
        row.best_ms[name], row.median_ms[name] = min(laps), statistics.median(laps)
    return row


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def table(rows: Sequence[Row], engines: Sequence[str]) -> list[str]:
    """The rows as Markdown, means and worst last."""
    heads = ["model", "onnxruntime ms", *(h for e in engines for h in (f"{e} ms", "median", "ratio", "differs"))]
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    for row in rows:
        cells = [row.model, f"{row.best_ms.get('onnxruntime', math.nan):.2f}"]
        for e in engines:
            ratio = row.ratio(e)
            if e not in row.best_ms:
                cells += [row.wrong.get(e, "-"), "", "", ""]
                continue
            said = row.wrong.get(e) if ratio is None else f"{ratio:.2f}"
            cells += [f"{row.best_ms[e]:.2f}", f"{row.median_ms[e]:.2f}", str(said), f"{row.difference[e]:.0e}"]
        lines.append("| " + " | ".join(cells) + " |")
    for title, summary in (("geometric mean", geometric_mean), ("worst", max)):
        cells = [f"**{title}**", ""]
        for e in engines:
            ratios = [r for row in rows if (r := row.ratio(e)) is not None]
            cells += ["", "", f"**{summary(ratios):.2f}**" if ratios else "-", ""]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def default_models(fetched: bool) -> list[str]:
    """The samples that are here, or the models that benchmarks/models.py has fetched."""
    if fetched:
        from benchmarks.models import present

        return [str(path) for _, path in present()]
    from workbench.samples import sample

    return [str(path) for path in sorted(sample("digits_cnn.onnx").parent.glob("*.onnx"))]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL.onnx")
    parser.add_argument("--fetched", action="store_true", help="the models of benchmarks/models.py")
    parser.add_argument("--only", default=".", metavar="REGEX", help="models whose file name matches")
    parser.add_argument("--kernels", default="numpy,compiled", help="which of our kernels (default: both)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each model (default: 3)")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N", help="size of an open axis")
    parser.add_argument("--random", type=int, metavar="N", help="N random shapes instead of models")
    parser.add_argument("--seed", type=int, default=0, help="of the random shapes")
    parser.add_argument("--figures", action="store_true", help="what else a session costs, instead of latency")
    parser.add_argument("--json", metavar="FILE", help="keep the rows")
    return parser.parse_args()


def main() -> int:
    a = arguments()
    from threadpoolctl import threadpool_limits

    from exec.compiled import available
    from exec.machine import blas, cpu_name
    from workbench.feeding import parse_dims

    engines = [e for e in a.kernels.split(",") if e != "compiled" or available()]
    if hasattr(os, "sched_setaffinity"):  # numba's and onnxruntime's threads, too
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: a.threads])
    found = blas()
    print(f"{cpu_name()}; BLAS {found.name} {found.version} {found.architecture}; {a.threads} thread(s); {found.slower_than_cpu}".rstrip("; "))  # fmt: skip
    paths = [p for p in a.models or default_models(a.fetched) if re.search(a.only, Path(p).stem)]
    dims = parse_dims(a.dim)
    with threadpool_limits(a.threads):
        if a.random:
            from benchmarks.exec_random import report

            return report(a.random, a.seed, engines)
        if a.figures:
            from benchmarks.exec_figures import figures

            return figures(paths, engines, a.seconds, dims)
        return _models(paths, engines, a, dims)


def _models(paths: Sequence[str], engines: Sequence[str], a: argparse.Namespace, dims: Mapping[str, int]) -> int:
    from exec.errors import BenchError

    rows = []
    for path in paths:
        try:
            row = measured(path, engines, a.threads, a.seconds, dims)
        except (BenchError, ImportError) as error:
            row = Row(title(path), wrong=dict.fromkeys(engines, str(error).partition("\n")[0][:80]))
        except Exception as error:  # onnxruntime raises whatever it likes; the other models are still of interest
            row = Row(title(path), wrong=dict.fromkeys(engines, f"{type(error).__name__}: {error}"[:80]))
        rows.append(row)
        ratios = "   ".join(f"{e} {row.ratio(e) or math.nan:5.2f}" for e in engines)
        print(f"{row.model:30s} {ratios}   {' '.join(row.wrong.values())}", file=sys.stderr, flush=True)
    print("\n".join(table(rows, engines)))
    if a.json:
        Path(a.json).write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")
    return int(any(row.wrong for row in rows))


if __name__ == "__main__":
    sys.exit(main())
