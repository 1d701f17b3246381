"""onnxruntime's profile, read back onto the nodes of the graph it was given."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from exec.cost import cost_of
from exec.timing import NodeTime
from exec.trace import Spec

SUFFIX = "_kernel_time"
FUSION = re.compile(r"^(.*)/[A-Za-z0-9]*Fusion[A-Za-z0-9]*/?$")
CHANNEL_BLOCKED = "_nchwc"
TOKEN = re.compile(r"_token_\d+$")

FARTHEST = 5
"""Nodes that one of its fused ones may span, one behind the other."""

TYPES = {
    "float": "float32", "double": "float64", "float16": "float16", "bool": "bool", "int8": "int8", "uint8": "uint8",
    "int16": "int16", "uint16": "uint16", "int32": "int32", "uint32": "uint32", "int64": "int64", "uint64": "uint64",
}  # fmt: skip


class Sources:
    """Finds the source node behind a name in the profile."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.index = {node.name: k for k, node in enumerate(graph.node)}
        self.nodes = list(graph.node)
        self.maker = {name: k for k, node in enumerate(graph.node) for name in node.output if name}

    def find(self, name: str, op: str) -> int | None:
        """The position of the source node, or None if the node is the runtime's own."""
        if name in self.index:
            return self.index[name]
        match = FUSION.match(name)
        if match and match.group(1) in self.index:
            return self.index[match.group(1)]
        if name.endswith(CHANNEL_BLOCKED):
            return self._behind(self.maker.get(name.removesuffix(CHANNEL_BLOCKED)), op)
        if name.removesuffix("/") in self.index:
            return self.index[name.removesuffix("/")]
        return None

    def _behind(self, position: int | None, op: str) -> int | None:
        """From the node whose output a fused one kept back to the nearest one of type `op` before it."""
        near = [] if position is None else [position]
        for _ in range(FARTHEST):
            for candidate in near:
                if self.nodes[candidate].op_type == op:
                    return candidate
            near = [self.maker[name] for k in near for name in self.nodes[k].input if name in self.maker]
        return position


def read_events(path: Path) -> list[dict[str, Any]]:
    """The events of a profile file."""
    events: list[dict[str, Any]] = json.loads(path.read_text())
    return events


def node_times(path: Path, graph: Any, proto: onnx.ModelProto, *, warm_up: int = 0) -> list[NodeTime]:
    """One NodeTime per source node, then the runtime's own nodes; the first `warm_up` runs are left out."""
    events = read_events(path)
    starts = sorted(e["ts"] for e in events if e.get("cat") == "Session" and e.get("name") == "model_run")
    runs = len(starts)
    sources = Sources(proto.graph)
    times: dict[int | str, list[int]] = defaultdict(lambda: [0] * runs)
    facts: dict[int | str, dict[str, Any]] = {}
    for event in events:
        if event.get("cat") != "Node" or not str(event.get("name", "")).endswith(SUFFIX):
            continue
        run = bisect_right(starts, event["ts"]) - 1
        arguments = event.get("args", {})
        name = str(event["name"]).removesuffix(SUFFIX)
        op = str(arguments.get("op_name", ""))
        found = sources.find(name, op)
        key: int | str = f"{op}\0{TOKEN.sub('', name)}" if found is None else found
        if 0 <= run < runs:
            times[key][run] += int(event["dur"]) * 1000
        facts.setdefault(key, {**arguments, "op": op, "own": name})
    rows = [
        _row(node.name or named.name, node.op, node.domain or "", k, times.get(k), facts.get(k), node.attrs, warm_up)
        for k, (node, named) in enumerate(zip(graph.nodes, proto.graph.node, strict=True))
    ]
    own = [key for key in times if isinstance(key, str)]
    for k, key in enumerate(own, len(rows)):
        op, _, name = key.partition("\0")
        rows.append(_row(name, op, "onnxruntime", k, times[key], facts[key], {}, warm_up))
    return rows


def _row(
    name: str,
    op: str,
    domain: str,
    index: int,
    times: list[int] | None,
    facts: Mapping[str, Any] | None,
    attributes: Mapping[str, Any],
    warm_up: int,
) -> NodeTime:
    if times is None or facts is None:
        kernel = "constant" if op == "Constant" else "fused"
        return NodeTime(name, op, domain, index, kernel, 0, 0, 0.0, 0, 0, 0, 0, (), 0, "", kernel == "fused")
    kept = np.asarray(times[warm_up:] or times)
    inputs = [_spec(entry) for entry in facts.get("input_type_shape", ())]
    outputs = [_spec(entry) for entry in facts.get("output_type_shape", ())]
    ran = str(facts["op"])
    cost = cost_of(ran if ran != op and ran else op, attributes, inputs, outputs)
    shapes = tuple(f"{s.dtype}[{','.join(map(str, s.shape))}]" for s in outputs if s is not None)
    kernel = ran if ran and ran != op else "onnxruntime"
    return NodeTime(
        name, op, domain, index, kernel, int(np.median(kept)), int(np.percentile(kept, 95)), 0.0,
        None if cost is None else cost.macs, None if cost is None else cost.flops,
        None if cost is None else cost.bytes_read, None if cost is None else cost.bytes_written,
        shapes, int(facts.get("mem_in_use_peak", 0) or 0), "", ran != op,
    )  # fmt: skip


def _spec(entry: Mapping[str, list[int]]) -> Spec | None:
    """One of its {"float": [1, 3]}."""
    for name, shape in entry.items():
        if name in TYPES:
            return Spec(tuple(shape), np.dtype(TYPES[name]))
    return None
