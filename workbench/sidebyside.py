"""The times of one model in two engines, or now and in a file of times, node by node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exec.ir import Model
from workbench.lookup import Lookup


@dataclass(frozen=True, slots=True)
class NodePair:
    """A source node and its median in both; None where that engine folded it away or never said."""

    name: str
    op: str
    a_ns: float | None
    b_ns: float | None

    @property
    def ratio(self) -> float | None:
        """How much of A's time B takes."""
        return self.b_ns / self.a_ns if self.a_ns and self.b_ns is not None else None


@dataclass(frozen=True, slots=True)
class Beside:
    """Two profiles of the same model.

    a, b     what ran it: "embedded", "onnxruntime", or the file's name
    a_sum_ns, b_sum_ns  of the nodes that were timed
    nodes    the largest difference first
    """

    a: str
    b: str
    a_sum_ns: float
    b_sum_ns: float
    nodes: tuple[NodePair, ...]


def side_by_side(model: Model, a: tuple[str, Any], b: tuple[str, Any]) -> Beside:
    """Two (label, `Profile` or `Measured`) of `model`, aligned by its nodes."""
    one, other = (Lookup(model, times) for _, times in (a, b))
    table = one.table
    pairs = [
        NodePair(table.label(row), table.op[row], was, now)
        for row, (was, now) in enumerate(zip(one.table.time_ns, other.table.time_ns, strict=True))
        if was is not None or now is not None
    ]
    pairs.sort(key=lambda p: -abs((p.a_ns or 0.0) - (p.b_ns or 0.0)))
    sums = [sum(filter(None, (t for t in found.table.time_ns))) for found in (one, other)]
    return Beside(a[0], b[0], sums[0], sums[1], tuple(pairs))
