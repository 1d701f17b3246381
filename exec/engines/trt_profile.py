"""The layers of `trtexec --exportProfile`, back to source nodes.

A layer's name says what it stands for: node names joined by " + " or " || ", wrapped as PWN(…) for pointwise groups, or as
{ForeignNode[first...last]} for everything between two nodes. What mentions no node is TensorRT's own: reformats, copies.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from exec.timing import NodeTime

FOREIGN = re.compile(r"\{ForeignNode\[(.+?)\.\.\.(.+?)\]\}")
PARTS = re.compile(r"\s*\|\|\s*|\s*\+\s*|,\s+")
WRAPPERS = re.compile(r"^(?:PWN|fusedPWN|\w+PWN)\((.*)\)$")
OWN = ("Reformatting CopyNode", "Reformat", "copy", "shuffle")


def layer_times(layers: Sequence[Mapping[str, Any]], proto: onnx.GraphProto, graph: Any) -> list[NodeTime]:
    """One NodeTime per source node, then TensorRT's own layers."""
    names = [node.name for node in proto.node]
    index = {name: k for k, name in enumerate(names)}
    times: dict[int, float] = defaultdict(float)
    shared: set[int] = set()
    own: list[tuple[str, float]] = []
    for layer in layers:
        name, taken = str(layer["name"]), 1e6 * float(layer.get("medianMs", layer.get("averageMs", 0.0)))
        found = sources(name, index, proto)
        if not found:
            own.append((name, taken))
            continue
        for k in found:
            times[k] += taken / len(found)
        if len(found) > 1:
            shared.update(found)
    rows = []
    for k, (node, name) in enumerate(zip(graph.nodes, names, strict=True)):
        taken = int(times.get(k, 0.0))
        kernel = "tensorrt" if k in times else "constant" if node.op == "Constant" else "fused"
        rows.append(_row(node.name or name, node.op, node.domain or "", k, kernel, taken, k in shared))
    rows += [_row(name, name.split(" ")[0], "tensorrt", len(rows) + k, "tensorrt", int(t), False) for k, (name, t) in enumerate(own)]  # fmt: skip
    return rows


def sources(name: str, index: Mapping[str, int], proto: onnx.GraphProto) -> list[int]:
    """Positions of the nodes a layer stands for, in order; of its own layers none."""
    if name in index:
        return [index[name]]
    if name.startswith(OWN):
        return []
    found: set[int] = set()
    for first, last in FOREIGN.findall(name):
        found.update(_between(first, last, index, proto))
    for part in PARTS.split(FOREIGN.sub("", name)):
        found.update(_named(part, index))
    return sorted(found)


def _named(part: str, index: Mapping[str, int]) -> set[int]:
    """Nodes in one part of a name, with what is wrapped around them taken off."""
    part = part.strip()
    if part in index:
        return {index[part]}
    inner = WRAPPERS.match(part)
    if inner is not None:
        return {k for piece in inner[1].split(",") for k in _named(piece, index)}
    bare = part.strip("()[]{} ")
    for head in ("PWN(", "fusedPWN("):
        bare = bare.removeprefix(head)
    return {index[bare]} if bare in index else set()


def _between(first: str, last: str, index: Mapping[str, int], proto: onnx.GraphProto) -> set[int]:
    """The nodes on the ways from one to the other; both of them where there is no way."""
    ends = {index[name] for name in (first, last) if name in index}
    if len(ends) < 2:
        return ends
    start, end = index[first], index[last]
    maker = {name: k for k, node in enumerate(proto.node) for name in node.output if name}
    readers: dict[int, set[int]] = defaultdict(set)
    for k, node in enumerate(proto.node):
        for name in node.input:
            if name in maker:
                readers[maker[name]].add(k)
    after = _reached(start, readers)
    before = _reached(end, {k: {maker[n] for n in node.input if n in maker} for k, node in enumerate(proto.node)})
    return (after & before) | ends


def _reached(start: int, edges: Mapping[int, set[int]]) -> set[int]:
    seen, pending = {start}, [start]
    while pending:
        for k in edges.get(pending.pop(), ()):
            if k not in seen:
                seen.add(k)
                pending.append(k)
    return seen


def _row(name: str, op: str, domain: str, index: int, kernel: str, taken: int, shared: bool) -> NodeTime:
    return NodeTime(name, op, domain, index, kernel, taken, taken, 0.0, None, None, None, None, (), 0, "", shared)
