"""Profiles that other tools have written, as ours: onnxruntime's trace, and the layers of TensorRT's trtexec."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from exec.engines.onnxruntime import named
from exec.engines.ort_profile import node_times
from exec.engines.trt_profile import layer_times
from exec.errors import OptionError
from exec.machine import Blas, Machine
from exec.noise import Noise
from exec.sidefile import read_decoded
from exec.timing import NodeTime, Profile

ELSEWHERE = Machine("unknown", 0, 0.0, 0.0, 0.0, Blas("", "", "", 0, ""))
"""The machine of an imported profile: nothing was measured of it."""

UNKNOWN_NOISE = Noise(0, 0, 0, 1.0, True, "")

MOST_BYTES = 1 << 30
"""Of a trace: a long run writes hundreds of megabytes."""

FORMS = "onnxruntime's profile (enable_profiling) and trtexec's --exportProfile are read"


def times_file(path: str | Path, forms: str) -> Any:
    """The JSON in a file of times; raises OptionError, which says by `forms` what can be read."""
    try:
        return read_decoded(path, json.loads, most=MOST_BYTES)
    except OSError as error:
        raise OptionError("the profile cannot be read", str(path), str(error)) from error
    except ValueError as error:
        raise OptionError("this is no JSON", str(path), str(error), forms) from error


def imported(path: str | Path, model: Any) -> Profile:
    """The profile in a file, by the nodes of `model`.

    A layer that stands for several nodes is shared among them in equal parts; what a runtime added has a line of its own.
    """
    data = times_file(path, FORMS)
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        raise OptionError("this is no profile", str(path), "a list of events or layers is needed", FORMS)
    proto = named(model.to_proto())
    if any(entry.get("cat") in ("Session", "Node") for entry in data):
        walls = [int(e["dur"]) * 1000 for e in data if e.get("cat") == "Session" and e.get("name") == "model_run"]
        if not walls:
            raise OptionError("the trace holds no whole run", str(path), "it was written before the first run ended")
        warm_up = int(len(walls) > 1)
        rows = node_times(Path(path), model.graph, proto, warm_up=warm_up)
        return _profile("onnxruntime", rows, len(walls) - warm_up, int(np.median(walls[warm_up:])), path)
    layers = [entry for entry in data if "name" in entry]
    if layers and all("averageMs" in layer or "medianMs" in layer for layer in layers):
        runs = max((int(entry["count"]) for entry in data if "count" in entry), default=1)
        rows = layer_times(layers, proto.graph, model.graph)
        return _profile("tensorrt", rows, runs, sum(row.median_ns for row in rows), path)
    raise OptionError("this is no profile", str(path), "neither events nor layers with times are in it", FORMS)


def _profile(engine: str, rows: Sequence[NodeTime], runs: int, wall_ns: int, path: str | Path) -> Profile:
    total = sum(row.median_ns for row in rows)
    nodes = tuple(replace(row, share=row.median_ns / total if total else 0.0) for row in rows)
    if not any(row.median_ns and row.domain != engine for row in rows):
        raise OptionError("no layer of the profile is a node of this model", str(path), hint="is it another model's?")
    note = "imported: neither that machine's rates nor how quiet it was are known"
    return Profile(
        engine, "imported", 0, runs, nodes, total, wall_ns, wall_ns - total, None, None, UNKNOWN_NOISE, ELSEWHERE, (), (note,)
    )  # fmt: skip
