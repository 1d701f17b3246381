"""What each node costs before anything runs: from shapes alone, open sizes bound as a made input would bind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from exec.cost import Cost, cost_of
from exec.dtypes import BY_CODE
from exec.errors import BenchError
from exec.feeds import make_feeds
from exec.ir import Constant, Model, no_gc
from exec.trace import Spec
from workbench.editing import set_dims
from workbench.nodes import NodeId, Shape, graphs
from workbench.shapes import inferred

_NUMPY = {row.name: row.numpy for row in BY_CODE.values()}
Known = Mapping[int, tuple[str, Shape | None]]


@dataclass(frozen=True, slots=True)
class Estimate:
    """Costs by place.

    shapes  id(tensor) → (dtype, shape), open sizes open
    costs   of the nodes whose shapes are known once `sizes` are bound
    sizes   what was assumed for open sizes: {"batch": 1}
    """

    shapes: dict[int, tuple[str, Shape | None]]
    costs: dict[NodeId, Cost]
    sizes: dict[str, int]

    @property
    def macs(self) -> int:
        """Multiply-adds of one run."""
        return sum(c.macs for c in self.costs.values())


def estimate(model: Model) -> Estimate:
    """Infer every shape of `model` and count what each node does."""
    with no_gc():
        shapes = inferred(model)
        open_sizes = any(not isinstance(d, int) for t in model.inputs for d in t.shape or ())
        if not open_sizes:
            return Estimate(shapes, _costs(model, shapes), {})
        try:
            sizes = dict(make_feeds(model, check=False).sizes)
            open_dims = [(f"{t.name}:{k}", d) for t in model.inputs for k, d in enumerate(t.shape or ())]
            known_names = {name for pair in open_dims for name in pair}
            bound = set_dims(model, {k: v for k, v in sizes.items() if k in known_names})
        except BenchError:
            return Estimate(shapes, _costs(model, shapes), {})
        return Estimate(shapes, _costs(bound, inferred(bound)), sizes)


def _costs(model: Model, shapes: Known) -> dict[NodeId, Cost]:
    known: dict[int, Spec | None] = {}

    def spec(tensor: object) -> Spec | None:
        key = id(tensor)
        if key not in known:
            known[key] = _spec(tensor, shapes)
        return known[key]

    found = {}
    for path, graph in graphs(model):
        for index, node in enumerate(graph.nodes):
            inputs = [spec(t) for t in node.inputs]
            fixed = [isinstance(t, Constant) for t in node.inputs]
            cost = cost_of(node.op, node.attrs, inputs, [spec(t) for t in node.outputs], fixed, node.domain or "")
            if cost is not None:
                found[NodeId(path, index)] = cost
    return found


def _spec(tensor: object, shapes: Known) -> Spec | None:
    dtype, shape = getattr(tensor, "dtype", None), getattr(tensor, "shape", None)
    if id(tensor) in shapes:
        name, shape = shapes[id(tensor)]
        dtype = _NUMPY.get(name)
    if shape is None or dtype is None or isinstance(dtype, int) or any(not isinstance(d, int) for d in shape):
        return None
    return Spec(tuple(d for d in shape if isinstance(d, int)), np.dtype(dtype))
