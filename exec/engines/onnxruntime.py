"""onnxruntime, where it is installed, behind the engine protocol."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from exec.arrays import Value
from exec.engines.ort_profile import node_times
from exec.errors import BenchError, EngineMissing, ExecutionError, UnsupportedOp
from exec.feedcheck import WEIGHTS, check_feeds
from exec.noise import NoiseCheck
from exec.progress import Cancel, Progress, check, report
from exec.session import input_defaults
from exec.threads import default_threads
from exec.timing import Profile, finished

FEWEST_RUNS = 3
LARGEST_BYTES = 1 << 31
"""What protobuf can serialize; a larger model goes through a file."""


class OnnxRuntimeEngine:
    """An InferenceSession, opened lazily, one per set of outputs.

    optimized  False switches its graph optimizations off
    library    a shared library with custom ops
    """

    name = "onnxruntime"

    def __init__(
        self, model: Any, *, threads: int | None = None, library: str | None = None, optimized: bool = True
    ) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise EngineMissing("onnxruntime is not installed", hint="pip install 'onnx-workbench[ort]'") from error
        self._runtime = onnxruntime
        self.model, self.threads = model, threads or default_threads()
        self._library, self._optimized = library, optimized
        self._defaults = input_defaults(model.graph)
        self.proto: onnx.ModelProto = named(model.to_proto())
        self._session = self._open(self.proto)

    def run(self, feeds: Mapping[str, Value], outputs: Sequence[str] | None = None) -> dict[str, Value]:
        """The wanted values by name; a value that is no output is made one in a session of its own."""
        own = [o.name for o in self.proto.graph.output]
        names = own if outputs is None else list(outputs)
        if all(name in own for name in names):
            return self._run(self._session, feeds, names)
        return dict(self.values(feeds, names))

    def values(
        self, feeds: Mapping[str, Value], names: Sequence[str], budget_bytes: int | None = None
    ) -> Iterator[tuple[str, Value]]:
        """The named values in the order they are made.

        onnxruntime returns outputs at the end of a run, so the values are asked for in groups, as many at a time as the
        budget allows; one run per group.
        """
        order = _production_order(self.proto.graph)
        checked = check_feeds(
            feeds, self.model.graph.inputs, self._defaults, self.model.graph.metadata.get(WEIGHTS, "")
        )
        wanted = sorted(dict.fromkeys(names), key=lambda n: order.get(n, -1))
        size = max(1, len(wanted)) if budget_bytes is None else 1
        done = 0
        while done < len(wanted):
            group = wanted[done : done + size]
            made = [n for n in group if n in order]
            found = self._run(self._open(with_outputs(self.proto, made)), feeds, made) if made else {}
            given = {n: checked.get(n, self._defaults.get(n)) for n in group if n not in order}
            for name in group:
                yield name, found[name] if name in found else given[name]
            done += len(group)
            if budget_bytes is not None:
                each = max((int(getattr(v, "nbytes", 1)) for v in found.values()), default=1)
                size = max(1, min(4 * size, budget_bytes // max(each, 1)))

    def measure(
        self,
        feeds: Mapping[str, Value],
        runs: int,
        *,
        seconds: float | None = None,
        progress: Progress | None = None,
        cancel: Cancel | None = None,
    ) -> Profile:
        """A profiled session's per-node times beside a plain session's whole runs."""
        names = [o.name for o in self.proto.graph.output]
        noise = NoiseCheck()
        walls: list[int] = []
        with tempfile.TemporaryDirectory() as folder:
            profiled = self._open(self.proto, str(Path(folder) / "ort"))
            for session in (self._session, profiled):
                self._run(session, feeds, names)
            until = None if seconds is None else time.perf_counter() + seconds
            while len(walls) < runs and (until is None or len(walls) < FEWEST_RUNS or time.perf_counter() < until):
                check(cancel, "the profile")
                report(progress, len(walls), runs, "profiling")
                noise.probe()
                began = time.perf_counter_ns()
                self._run(self._session, feeds, names)
                walls.append(time.perf_counter_ns() - began)
                self._run(profiled, feeds, names)
            path = profiled.end_profiling()
            rows = node_times(Path(path), self.model.graph, self.proto, warm_up=1)
        return finished(
            rows,
            engine=self.name,
            kernels=f"onnxruntime {self._runtime.__version__}",
            threads=self.threads,
            runs=len(walls),
            wall_ns=int(np.median(walls)),
            noise=noise.verdict(),
        )

    def _run(self, session: Any, feeds: Mapping[str, Value], names: list[str]) -> dict[str, Value]:
        checked = check_feeds(
            feeds, self.model.graph.inputs, self._defaults, self.model.graph.metadata.get(WEIGHTS, "")
        )
        given = {name: value for name, value in checked.items() if value is not None}
        try:
            return dict(zip(names, session.run(names, given), strict=True))
        except Exception as error:  # its exceptions share no base class
            raise _refused(error, "run") from error

    def _open(self, proto: onnx.ModelProto, profile: str | None = None) -> Any:
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.log_severity_level = 4
        options.add_session_config_entry("session.force_spinning_stop", "1")  # its idle threads must not eat our cores
        if not self._optimized:
            options.graph_optimization_level = self._runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        if self._library:
            options.register_custom_ops_library(self._library)
        if profile is not None:
            options.enable_profiling, options.profile_file_prefix = True, profile
        try:
            return self._session_of(proto, options)
        except Exception as error:  # its exceptions share no base class
            raise _refused(error, "open") from error

    def _session_of(self, proto: onnx.ModelProto, options: Any) -> Any:
        providers = ["CPUExecutionProvider"]
        if proto.ByteSize() < LARGEST_BYTES:
            return self._runtime.InferenceSession(proto.SerializeToString(), options, providers=providers)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            onnx.save(proto, path, save_as_external_data=True, location="model.data")
            return self._runtime.InferenceSession(path, options, providers=providers)


def _refused(error: Exception, doing: str) -> BenchError:
    said = str(error).splitlines()[0] if str(error) else type(error).__name__
    if "is not a registered function/op" in said or "NOT_IMPLEMENTED" in said:
        return UnsupportedOp(
            "onnxruntime has no kernel for part of the model", why=said, hint="`--ort-library` adds ops"
        )
    return ExecutionError(f"onnxruntime cannot {doing} the model", why=said)


def named(proto: onnx.ModelProto) -> onnx.ModelProto:
    """`proto` with a name for every node: its profile knows nodes by nothing else."""
    taken = {node.name for node in proto.graph.node}
    for k, node in enumerate(proto.graph.node):
        if not node.name:
            name = f"{node.op_type}_{k}"
            while name in taken:
                name += "_"
            node.name = name
            taken.add(name)
    return proto


def with_outputs(proto: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    """A copy of `proto` whose outputs are `names`."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    known = {o.name: o for o in proto.graph.output}
    del copy.graph.output[:]
    for name in names:
        copy.graph.output.append(known.get(name) or onnx.ValueInfoProto(name=name))
    return copy


def _production_order(graph: onnx.GraphProto) -> dict[str, int]:
    """Names of values some node makes, with the place of that node."""
    order = {name: k for k, node in enumerate(graph.node) for name in node.output if name}
    order.update({t.name: -1 for t in graph.initializer})
    return order
