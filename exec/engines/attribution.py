"""From the steps of a plan back to the nodes of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.binding import describe
from exec.cost import Cost, cost_of
from exec.plan import Plan
from exec.program import Operation, Program
from exec.timing import NodeTime
from exec.trace import Spec, Trace


class _Row:
    """What is gathered for one source node."""

    __slots__ = ("cost", "kernels", "live", "node", "shapes", "shared", "times")

    def __init__(self, node: Any) -> None:
        self.node = node
        self.times: Array | None = None
        self.kernels: set[str] = set()
        self.cost: Cost | None = Cost()
        self.shapes: list[str] = []
        self.live = 0
        self.shared = False


class Attribution:
    """Shares the time of each step among the nodes it computes, by their cost."""

    def __init__(self, program: Program, trace: Trace, plan: Plan) -> None:
        self.trace, self.plan = trace, plan
        self.order: list[_Row] = []
        self.rows_of: dict[int, _Row] = {}
        self.costs: dict[int, Cost | None] = {}
        for operation in _all_operations(program, trace):
            self._row(operation.node)
        for operation in trace.operations:
            self._describe(operation)

    def _row(self, node: Any) -> _Row:
        row = self.rows_of.get(id(node))
        if row is None:
            row = self.rows_of[id(node)] = _Row(node)
            self.order.append(row)
        return row

    def _describe(self, operation: Operation) -> None:
        row = self._row(operation.node)
        cost = self.costs[id(operation)] = self._cost(operation)
        row.cost = None if row.cost is None or cost is None else row.cost + cost
        specs = [self._spec(n) for n in operation.outputs if n >= 0]
        row.shapes = [describe(np.broadcast_to(np.empty((), s.dtype), s.shape)) for s in specs if s is not None]

    def _spec(self, number: int) -> Spec | None:
        if number in self.trace.specs:
            return self.trace.specs[number]
        value = self.trace.known.get(number)
        return Spec(value.shape, value.dtype) if isinstance(value, np.ndarray) else None

    def _cost(self, operation: Operation) -> Cost | None:
        inputs = [None if n < 0 else self._spec(n) for n in operation.inputs]
        outputs = [self._spec(n) for n in operation.outputs if n >= 0]
        fixed = [n in self.trace.known for n in operation.inputs]
        return cost_of(operation.op, operation.attributes, inputs, outputs, fixed, operation.domain)

    def rows(self, laps: Array) -> list[NodeTime]:
        """One NodeTime per source node; `laps` (runs, steps) in nanoseconds."""
        plan = self.plan
        for k, (unit, variant) in enumerate(zip(plan.units, plan.variants, strict=True)):
            parts = list(_shares(unit.sources, self.costs))
            for operation, share in parts:
                row = self._row(operation.node)
                time = laps[:, k] * share
                row.times = time if row.times is None else row.times + time
                row.kernels.add(variant)
                row.live = max(row.live, plan.live_bytes[k])
                row.shared = row.shared or len({id(o.node) for o, _ in parts}) > 1
        traced = {id(o.node) for o in self.trace.operations}
        return [self._finished(index, row, id(row.node) in traced) for index, row in enumerate(self.order)]

    def _finished(self, index: int, row: _Row, traced: bool) -> NodeTime:
        node, cost = row.node, row.cost
        kernel = next(
            (k for k in ("reference", "compiled", "numpy") if k in row.kernels), "view" if traced else "constant"
        )
        median = 0 if row.times is None else int(np.median(row.times))
        p95 = 0 if row.times is None else int(np.percentile(row.times, 95))
        if not traced:
            cost = Cost()
        return NodeTime(
            node.name,
            node.op,
            node.domain or "",
            index,
            kernel,
            median,
            p95,
            0.0,
            None if cost is None else cost.macs,
            None if cost is None else cost.flops,
            None if cost is None else cost.bytes_read,
            None if cost is None else cost.bytes_written,
            tuple(row.shapes),
            row.live,
            "",
            row.shared,
        )


def _all_operations(program: Program, trace: Trace) -> Iterator[Operation]:
    """The program's operations in order, those of taken branches behind their If."""
    top = {id(o.node) for o in program.operations}
    inner = [o for o in trace.operations if id(o.node) not in top]
    yield from program.operations
    yield from inner


def _shares(sources: list[Operation], costs: dict[int, Cost | None]) -> Iterator[tuple[Operation, float]]:
    """Each source with its part of the unit's time: by operations, and by bytes where there are none."""
    weights = []
    for source in sources:
        cost = costs.get(id(source))
        weights.append(0.0 if cost is None else cost.flops + (cost.bytes_read + cost.bytes_written) / 4)
    total = sum(weights)
    for source, weight in zip(sources, weights, strict=True):
        yield source, weight / total if total else 1 / len(sources)
