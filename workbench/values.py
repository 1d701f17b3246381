"""Which value of B is which value of A, and how: what `compare` lines up."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.ir import Constant, Model
from workbench.alignment import align

VALUE = "owb.value"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two values that should be equal.

    how    "same", "cast", "transposed" or "dequantized": what B's value is of A's, undone before the subtraction
    basis  "declared" (provenance), "name" or "structure"
    """

    before: str
    after: str
    how: str
    basis: str


def aligned_values(before: Model, after: Model) -> list[Pair]:
    """Pairs in the order in which B computes them; outputs pair by position.

    Declared provenance comes first, then equal names, then nodes that align by structure.
    """
    a, b = before.graph, after.graph
    made = {t.name: t for n in a.nodes for t in n.outputs if t.name}
    inputs = {t.name for t in a.inputs}
    pairs = align(a, b)
    outputs = {id(t): s.name for s, t in zip(a.outputs, b.outputs, strict=False)}
    found: list[Pair] = []
    used: set[str] = set()
    for k, node in enumerate(b.nodes):
        for place, tensor in enumerate(node.outputs):
            if not tensor.name:
                continue
            pair = _pair(tensor, outputs.get(id(tensor)), made, inputs)
            if pair is None and k in pairs:
                other = a.nodes[pairs[k]]
                if place < len(other.outputs) and other.outputs[place].name:
                    pair = Pair(other.outputs[place].name, tensor.name, "same", "structure")
            if pair is not None and pair.before not in used and not isinstance(made.get(pair.before), Constant):
                used.add(pair.before)
                found.append(pair)
    return found


def _pair(tensor: Any, output: str | None, made: dict[str, Any], inputs: set[str]) -> Pair | None:
    declared = tensor.metadata.get(VALUE)
    if declared:
        try:
            entry = json.loads(declared)
            if entry["of"] in made:
                return Pair(entry["of"], tensor.name, str(entry["how"]), "declared")
        except (ValueError, KeyError, TypeError):
            return None  # a stranger's metadata under our key means nothing
    if output is not None:
        return Pair(output, tensor.name, "same", "name")
    return Pair(tensor.name, tensor.name, "same", "name") if tensor.name in made and tensor.name not in inputs else None


def undone(value: Any, like: Any, how: str) -> Any:
    """B's value as A's, the `how` taken back."""
    if not isinstance(value, np.ndarray) or not isinstance(like, np.ndarray):
        return value
    if how == "cast" or (
        how == "same" and value.dtype != like.dtype and value.dtype.kind in "fV" and like.dtype.kind in "fV"
    ):
        return value.astype(like.dtype)
    if how == "transposed" and value.shape != like.shape:
        return _transposed(value, like)
    return value


def _transposed(value: Array, like: Array) -> Array:
    """NHWC back to NCHW, or the two last axes swapped, whichever has the shape."""
    for axes in (
        (0, value.ndim - 1, *range(1, value.ndim - 1)),
        (*range(value.ndim - 2), value.ndim - 1, value.ndim - 2),
    ):
        if tuple(value.shape[a] for a in axes) == like.shape:
            return value.transpose(axes)
    return value
