"""What each node costs before anything runs: from shapes alone, open sizes bound as a made input would bind them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from exec.cost import Cost, cost_of
from exec.dtypes import BY_CODE
from exec.errors import BenchError
from exec.ir import Constant, Model, no_gc, reads
from exec.specs import Spec
from workbench.nodes import Shape, graphs, weight_of
from workbench.shapes import inferred

_NUMPY = {row.name: row.numpy for row in BY_CODE.values()}
Known = Mapping[int, tuple[str, Shape | None]]


@dataclass(frozen=True, slots=True)
class Estimate:
    """Costs by row.

    shapes  id(tensor) → (dtype, shape), open sizes open
    costs   of the rows of a node table; None where a shape is not known even with `sizes` bound
    sizes   what was assumed for open sizes: {"batch": 1}
    peak_bytes  of the values alive at one time in the main graph, in the order of its nodes, weights not counted; views count as copies
    unknown     nodes of the main graph with an output of unknown size
    """

    shapes: dict[int, tuple[str, Shape | None]]
    costs: tuple[Cost | None, ...]
    sizes: dict[str, int]
    peak_bytes: int = 0
    unknown: int = 0

    @property
    def macs(self) -> int:
        """Multiply-adds of one run."""
        return sum(c.macs for c in self.costs if c is not None)


def estimate(model: Model, *, shapes: bool = True) -> Estimate:
    """Infer every shape of `model` and count what each node does; inputs that need not be fed have their defaults.

    shapes  False where only costs are asked for: the model is then gone through once, with sizes bound
    """
    with no_gc():
        bound = model
        sizes: dict[str, int] = {}
        # what binds inputs is loaded only where there is something to bind: most of a short command's time is imports
        if any(getattr(t, "default", None) is not None for t in model.graph.inputs):
            from passes.convert.weights import inputs_to_weights

            bound = inputs_to_weights(model)
        if any(not isinstance(d, int) for t in model.inputs for d in t.shape or ()):
            from exec.feeds import make_feeds

            with contextlib.suppress(BenchError):  # what is known without sizes is still known
                sizes = dict(make_feeds(model, check=False, count=0).sizes)
        known = inferred(bound, sizes)
        unbound = inferred(model) if shapes and (sizes or bound is not model) else known
        return Estimate(unbound if shapes else {}, _costs(bound, known, sizes), sizes, *_alive(bound, known, sizes))


def _alive(model: Model, shapes: Known, bound: Mapping[str, int]) -> tuple[int, int]:
    """The peak of bytes alive, and the nodes whose outputs have no known size."""
    graph = model.graph
    last = {id(t): len(graph.nodes) for t in graph.outputs}
    for index, node in enumerate(graph.nodes):
        for tensor in reads(node):
            if not isinstance(tensor, Constant):
                last.setdefault(id(tensor), index)
                last[id(tensor)] = max(last[id(tensor)], index)
    sizes = {id(t): spec.nbytes for t in graph.inputs if (spec := _spec(t, shapes, bound)) is not None}
    unread = [key for key in sizes if key not in last]
    alive, unknown = sum(sizes.values()), 0
    peak = alive
    for index, node in enumerate(graph.nodes):
        if node.op == "Constant" and not node.domain:
            continue  # a weight, like an initializer
        made = [t for t in node.outputs if t.name]
        specs = [_spec(t, shapes, bound) for t in made]
        unknown += any(spec is None for spec in specs)
        for tensor, spec in zip(made, specs, strict=True):
            sizes[id(tensor)] = 0 if spec is None else spec.nbytes
            alive += sizes[id(tensor)]
        peak = max(peak, alive)
        gone = [id(t) for t in (*reads(node), *made) if last.get(id(t), index) <= index]
        alive -= sum(sizes.pop(key, 0) for key in (*gone, *unread))  # each once: a second time it is not there any more
        unread = []
    return peak, unknown


def _costs(model: Model, shapes: Known, bound: Mapping[str, int]) -> tuple[Cost | None, ...]:
    known: dict[int, Spec | None] = {}
    same: dict[Spec, Spec] = {}  # most values look like some other one
    alike: dict[Cost, Cost] = {}

    def spec(tensor: object) -> Spec | None:
        key = id(tensor)
        if key not in known:
            made = _spec(tensor, shapes, bound)
            known[key] = made and same.setdefault(made, made)
        return known[key]

    found: list[Cost | None] = []
    for _, graph in graphs(model):
        for node in graph.nodes:
            inputs = [spec(t) for t in node.inputs]
            fixed = [weight_of(t) is not None for t in node.inputs]
            cost = cost_of(node.op, node.attrs, inputs, [spec(t) for t in node.outputs], fixed, node.domain or "")
            found.append(None if cost is None else alike.setdefault(cost, cost))
    return tuple(found)


def _spec(tensor: object, shapes: Known, bound: Mapping[str, int]) -> Spec | None:
    dtype, shape = getattr(tensor, "dtype", None), getattr(tensor, "shape", None)
    if id(tensor) in shapes:
        name, shape = shapes[id(tensor)]
        dtype = _NUMPY.get(name)
    if shape is None or dtype is None or isinstance(dtype, int):
        return None
    dims = tuple(bound.get(d, d) if isinstance(d, str) else d for d in shape)
    sizes = tuple(d for d in dims if isinstance(d, int))
    return Spec(sizes, np.dtype(dtype)) if len(sizes) == len(dims) else None
