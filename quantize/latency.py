"""How much time a quantized model takes of the float one's: measured in turns, so that a busy machine slows both."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from statistics import median
from time import perf_counter, thread_time
from typing import Any

from exec.arrays import Value
from exec.engines import Engine, open_engine
from exec.ir import Model, walk

PAIRS = 15
SECONDS = 3.0


KNOWN = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft"}
"""Domains that onnxruntime has operators of."""


def engine_name(model: Model) -> str:
    """onnxruntime where it is installed and loads the model: only there are QDQ graphs computed on integers."""
    if not importlib.util.find_spec("onnxruntime"):
        return "embedded"
    own = {f.domain for f in model.functions}
    foreign = any((n.domain or "") not in KNOWN | own for graph in walk(model.graph) for n in graph.nodes)
    return "embedded" if foreign else "onnxruntime"


class Stopwatch:
    """The float model, ready to be compared with."""

    def __init__(self, model: Model, feeds: Mapping[str, Value]) -> None:
        self.engine, self.feeds = engine_name(model), feeds
        self._float = self._open(model)

    def _open(self, model: Model) -> Engine:
        engine = open_engine(model, self.engine, threads=1)
        engine.run(self.feeds)
        return engine

    def ratio(self, model: Model) -> float:
        """Median of the ratios of pairs of runs, on one thread."""
        other = self._open(model)
        ratios: list[float] = []
        until = perf_counter() + SECONDS
        while len(ratios) < PAIRS and (perf_counter() < until or not ratios):
            ratios.append(self._time(other) / max(self._time(self._float), 1e-9))
        return median(ratios)

    def _time(self, engine: Any) -> float:
        """CPU time of this thread: an engine with one thread computes in it."""
        began = thread_time()
        engine.run(self.feeds)
        return thread_time() - began
