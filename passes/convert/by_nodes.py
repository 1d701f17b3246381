"""A narrow model against its original, node by node: for models of which two whole runs are over the budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from exec.arrays import Array, Value
from exec.ir import Constant, Graph, Model, Node
from exec.metrics import difference
from passes.base import Safety
from passes.region import Workspace
from passes.regional import Part, RegionalVerifier

EACH = 4
"""Nodes of one op and one set of input types that are looked at; the rest compute with the same kernel."""


def compare_nodes(before: Model, after: Model, narrow: np.dtype[Any]) -> tuple[int, int, float, str]:
    """How many nodes were compared, of how many narrow ones, the worst difference, and what is wrong, "" where nothing is."""
    source, result = Workspace(before), Workspace(after)
    originals = {n.name: n for n in before.graph.nodes if n.name}
    values = RegionalVerifier()
    looked: Counter[tuple[str, ...]] = Counter()
    seen = total = 0
    worst = 0.0
    for node in after.graph.nodes:
        old = originals.get(node.name)
        if old is None or old.op != node.op or any(isinstance(v, Graph) for v in node.attrs.values()):
            continue
        dtypes = tuple(str(result.main.dtype(t)) for t in node.inputs if t.name)
        if str(narrow) not in dtypes:
            continue
        total += 1
        looked[node.op, *dtypes] += 1
        if looked[node.op, *dtypes] > EACH:
            continue
        gap = _gap(node, old, source, result, values)
        if gap is None:
            continue
        seen += 1
        worst = max(worst, gap)
        if gap > 4 * Safety.ROUNDING.tolerance(narrow, whole=True):
            return seen, total, worst, f"node {node.name} differs by {gap:.2g} of its range by itself"
    return seen, total, worst, ""


def _gap(node: Node, old: Node, source: Workspace, result: Workspace, values: RegionalVerifier) -> float | None:
    """The largest difference of the two nodes' first outputs on the same numbers; None where they cannot be had."""
    entered: dict[Any, Value] = {}
    given: dict[Any, Value] = {}
    for a, b in zip(old.inputs, node.inputs, strict=False):
        if not a.name or isinstance(a, Constant):
            continue
        value = values.value(a, source.main, "plain")
        dtype = result.main.dtype(b)
        if value is None or dtype is None:
            return None
        given[b] = value.astype(dtype)
        entered[a] = given[b].astype(value.dtype)
    want = _first(old, entered, source)
    got = _first(node, given, result)
    if want is None or got is None:
        return None
    return difference(want, got.astype(want.dtype)).max_of_range


def _first(node: Node, feeds: Mapping[Any, Value], workspace: Workspace) -> Array | None:
    out = Part([node], feeds, workspace.main).run(feeds)
    value = None if out is None else out.get(node.outputs[0])
    return value if isinstance(value, np.ndarray) else None


__all__ = ["compare_nodes"]
