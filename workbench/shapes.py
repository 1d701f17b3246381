"""Shapes of every value, inferred without running: what tables and drawings show."""

from __future__ import annotations

from exec.dtypes import dtype_name
from exec.ir import Model
from passes.dims import Dim
from passes.shapes import Facts
from workbench.nodes import Shape, graphs

_LONGEST = 24


def inferred(model: Model) -> dict[int, tuple[str, Shape | None]]:
    """id(tensor) → (dtype, shape) of what nodes make; a size that is not known or long to say is None."""
    facts = Facts(model)
    found: dict[int, tuple[str, Shape | None]] = {}
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


def _dim(dim: Dim) -> int | str | None:
    if isinstance(dim, int):
        return dim
    text = str(dim)
    return None if "?" in text or len(text) > _LONGEST else text
