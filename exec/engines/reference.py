"""onnx.reference: slow, and the definition."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from exec.arrays import Value
from exec.binding import describe
from exec.errors import BenchError, ExecutionError
from exec.feedcheck import WEIGHTS, check_feeds
from exec.noise import NoiseCheck
from exec.progress import Cancel, Progress, check, report
from exec.session import input_defaults
from exec.timing import NodeTime, Profile, finished


class ReferenceEngine:
    """The reference evaluator of the onnx package behind the engine protocol; one thread, whatever is asked."""

    name = "reference"

    def __init__(self, model: Any, *, threads: int | None = None) -> None:
        self.model = model
        self.proto: onnx.ModelProto = model.to_proto()
        self.evaluator = self._open(self.proto)
        self._defaults = input_defaults(model.graph)

    def _open(self, proto: onnx.ModelProto) -> Any:
        from onnx.reference import ReferenceEvaluator

        try:
            return ReferenceEvaluator(proto)
        except Exception as error:  # it raises whatever it likes
            raise _refused(error) from error

    def run(self, feeds: Mapping[str, Value], outputs: Sequence[str] | None = None) -> dict[str, Value]:
        """The wanted values by name."""
        checked = check_feeds(
            feeds, self.model.graph.inputs, self._defaults, self.model.graph.metadata.get(WEIGHTS, "")
        )
        names = [o.name for o in self.proto.graph.output] if outputs is None else list(outputs)
        try:
            with np.errstate(all="ignore"):  # what overflows is in the result, not on the user's terminal
                if outputs is None:
                    return dict(zip(names, self.evaluator.run(None, checked), strict=True))
                found = self.evaluator.run(None, checked, intermediate=True)
        except Exception as error:  # it raises whatever it likes
            raise _refused(error) from error
        return {name: found[name] for name in names}

    def values(
        self, feeds: Mapping[str, Value], names: Sequence[str], budget_bytes: int | None = None
    ) -> Iterator[tuple[str, Value]]:
        """The named values of one run."""
        found = self.run(feeds, names)
        yield from found.items()

    def measure(
        self,
        feeds: Mapping[str, Value],
        runs: int,
        *,
        seconds: float | None = None,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> Profile:
        """Time each node's `run`."""
        nodes = self.evaluator.rt_nodes_
        laps: list[list[int]] = []
        shapes: list[tuple[str, ...]] = [()] * len(nodes)
        current: list[int] = []
        originals = [node.run for node in nodes]

        def wrapped(k: int) -> Any:
            def run(*args: Any, **kwargs: Any) -> Any:
                began = time.perf_counter_ns()
                result = originals[k](*args, **kwargs)
                current.append(time.perf_counter_ns() - began)
                shapes[k] = tuple(describe(v) for v in result)
                return result

            return run

        for k, node in enumerate(nodes):
            node.run = wrapped(k)
        noise, walls = NoiseCheck(), []
        until = None if seconds is None else time.perf_counter() + seconds
        try:
            while len(laps) < runs and (until is None or not laps or time.perf_counter() < until):
                check(cancel, "the profile")
                report(progress, len(laps), runs, "profiling")
                noise.probe()
                current.clear()
                noise.begin()
                began = time.perf_counter_ns()
                self.run(feeds)
                walls.append(time.perf_counter_ns() - began)
                noise.end()
                laps.append(list(current))
        finally:
            for node, original in zip(nodes, originals, strict=True):
                node.run = original
        times = np.asarray(laps)
        rows = [
            NodeTime(
                node.onnx_node.name, node.onnx_node.op_type, node.onnx_node.domain, k, "reference",
                int(np.median(times[:, k])), int(np.percentile(times[:, k], 95)), 0.0, None, None, None, None, shapes[k], 0, "",
            )
            for k, node in enumerate(nodes)
        ]  # fmt: skip
        return finished(
            rows, engine=self.name, kernels="reference", threads=1, runs=len(laps), wall_ns=int(np.median(walls)),
            noise=noise.verdict(),
        )  # fmt: skip


def _refused(error: Exception) -> BenchError:
    said = str(error).splitlines()[0] if str(error) else type(error).__name__
    return ExecutionError("onnx.reference cannot run the model", why=said, hint="`--engine embedded` runs more models")
