"""Shapes of every value, inferred without running: what tables and drawings show."""

from __future__ import annotations

from collections.abc import Mapping

from exec.dtypes import dtype_name
from exec.ir import Model, Variable
from passes.dims import Dim
from passes.shapes import Facts
from workbench.nodes import Shape, graphs

_LONGEST = 24


def inferred(model: Model, sizes: Mapping[str, int] | None = None) -> dict[int, tuple[str, Shape | None]]:
    """id(tensor) → (dtype, shape) of what nodes make; a size that is not known or long to say is None.

    sizes  of open dims of the inputs, by symbol or `input:axis`: then the inputs are told too; the model is left as it is
    """
    facts = Facts(model)
    found: dict[int, tuple[str, Shape | None]] = {}
    if sizes:
        for tensor in model.graph.inputs:
            fact = facts.of(tensor)
            if fact.shape is not None:
                fact.shape = tuple(_bound(tensor, axis, dim, sizes) for axis, dim in enumerate(fact.shape))
                found[id(tensor)] = dtype_name(fact.dtype), tuple(map(_dim, fact.shape))
    alike: dict[tuple[str, Shape | None], tuple[str, Shape | None]] = {}  # most values look like some other one
    for path, graph in graphs(model):
        if path.startswith("function "):
            continue
        for node in graph.nodes:
            for tensor in node.outputs:
                fact = facts.of(tensor)
                shape = None if fact.shape is None else tuple(map(_dim, fact.shape))
                look = (dtype_name(fact.dtype), shape)
                found[id(tensor)] = alike.setdefault(look, look)
    return found


def _bound(tensor: Variable, axis: int, dim: Dim, sizes: Mapping[str, int]) -> Dim:
    """A dim of an input, as `set_dims` would bind it."""
    declared = (tensor.shape or ())[axis]
    return sizes.get(f"{tensor.name}:{axis}", sizes.get(declared, dim) if isinstance(declared, str) else dim)


def _dim(dim: Dim) -> int | str | None:
    if isinstance(dim, int):
        return dim
    text = str(dim)
    return None if "?" in text or len(text) > _LONGEST else text
