"""Write the types and shapes that follow from the graph into the file: what viewers and other tools read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exec.ir import Model, Variable, no_gc, walk
from passes.patch import declared
from passes.shapes import Facts


@dataclass(frozen=True, slots=True)
class ShapeClaim:
    """A value whose declaration the graph contradicts: what the file said, what follows."""

    value: str
    said: str
    follows: str


@dataclass(frozen=True, slots=True)
class Inferred:
    """The model with declarations, how many values got one, how many stay unknown, and the wrong claims that were replaced."""

    model: Model
    written: int
    unknown: int
    wrong: tuple[ShapeClaim, ...]


def infer_shapes(model: Model) -> Inferred:
    """A copy of `model` in which every value whose type and shape follow from the inputs declares them.

    A declared size that contradicts what the nodes compute is replaced and reported; outputs of the graph keep a declared symbol
    where the inference has none.
    """
    with no_gc():
        out = model.copy()
    facts = Facts(out)
    written = unknown = 0
    wrong: list[ShapeClaim] = []
    for graph in walk(out.graph):
        for node in graph.nodes:
            for tensor in node.outputs:
                if not tensor.name or not isinstance(tensor, Variable) or tensor.type not in (None, "tensor_type"):
                    continue
                fact = facts.of(tensor)
                shape = declared(fact.shape)
                if fact.dtype is None or shape is None:
                    unknown += 1
                    continue
                claim = _contradiction(tensor, fact.dtype, shape)
                if claim is not None:
                    wrong.append(claim)
                merged = (
                    shape
                    if claim is not None or tensor.shape is None
                    else [d if d is not None else s for d, s in zip(shape, tensor.shape, strict=True)]
                )
                if tensor.dtype != fact.dtype or tensor.shape != merged:
                    tensor.dtype, tensor.shape = fact.dtype, merged
                    written += 1
    return Inferred(out, written, unknown, tuple(wrong))


def _contradiction(tensor: Variable, dtype: np.dtype[np.generic], shape: list[int | str | None]) -> ShapeClaim | None:
    """A claim of the file that cannot be true."""
    said = tensor.shape
    if said is None:
        return None
    differs = (tensor.dtype is not None and tensor.dtype != dtype) or len(said) != len(shape)
    differs = differs or any(
        isinstance(a, int) and a > 0 and isinstance(b, int) and a != b for a, b in zip(said, shape, strict=False)
    )
    return ShapeClaim(tensor.name, f"{tensor.dtype or 'no type'} {said}", f"{dtype} {shape}") if differs else None
