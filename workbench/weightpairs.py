"""The weights of two models side by side: which became which, and how far their values are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exec.arrays import Array
from exec.ir import Constant, Node
from exec.metrics import Difference, difference

_CARRIERS = frozenset({"DequantizeLinear", "Cast", "Identity"})


@dataclass(frozen=True, slots=True)
class Scaled:
    """How an integer weight is read: value = (stored − zero_point) · scale.

    axis   the axis that has a scale each, None for one scale
    block  elements along the axis that share a scale, 0 without blocks
    """

    scale: Array
    zero_point: Array | None
    axis: int | None
    block: int = 0


@dataclass(frozen=True, slots=True)
class Pair:
    """Positions in A and in B; None where the weight is in one of them only."""

    before: int | None
    after: int | None


def scaled(weight: Constant) -> Scaled | None:
    """The scale and the zero point a weight is dequantized with; None for a weight that is used as it is."""
    reader = next(
        (n for n in weight.outputs if n.op == "DequantizeLinear" and n.inputs and n.inputs[0] is weight), None
    )
    if reader is None or len(reader.inputs) < 2 or not isinstance(reader.inputs[1], Constant):
        return None
    scale = np.asarray(reader.inputs[1].values)
    third = reader.inputs[2] if len(reader.inputs) > 2 else None
    zero = np.asarray(third.values) if isinstance(third, Constant) else None
    axis = int(reader.attrs.get("axis", 1)) % max(len(weight.shape), 1)
    return Scaled(
        scale, zero, None if scale.ndim == 0 or scale.size == 1 else axis, int(reader.attrs.get("block_size", 0))
    )


def floats(weight: Constant) -> Array:
    """The values as the graph computes with them."""
    values, how = np.asarray(weight.values), scaled(weight)
    if how is None:
        return values
    wide = values.astype(np.float32)
    if how.zero_point is not None:
        wide = wide - _along(how.zero_point.astype(np.float32), how, values.shape)
    out: Array = wide * _along(how.scale.astype(np.float32), how, values.shape)
    return out


def _along(numbers: Array, how: Scaled, shape: tuple[int, ...]) -> Array:
    """Scales shaped so that they meet the weight's elements."""
    if how.axis is None:
        return numbers.reshape(())
    if how.block:
        return np.repeat(numbers, how.block, axis=how.axis).take(range(shape[how.axis]), axis=how.axis)
    return numbers.reshape([-1 if k == how.axis else 1 for k in range(len(shape))])


def pair_up(before: Sequence[Constant], after: Sequence[Constant]) -> list[Pair]:
    """B's weights in order, then what is gone: paired by name, else by the input of the node that reads them."""
    named = {w.name: k for k, w in enumerate(before)}
    kept = {named[w.name] for w in after if w.name in named}
    placed = {place: k for k, w in enumerate(before) if k not in kept for place in _places(w)}
    pairs, taken = [], set(kept)
    for k, weight in enumerate(after):
        partner = named.get(weight.name)
        if partner is None:
            partner = next((placed[p] for p in _places(weight) if p in placed and placed[p] not in taken), None)
        if partner is not None:
            taken.add(partner)
        pairs.append(Pair(partner, k))
    return pairs + [Pair(k, None) for k in range(len(before)) if k not in taken]


def _places(weight: Constant) -> list[tuple[str, int]]:
    """(node, input) of everything that computes with the weight, seen through what only carries it."""
    found: list[tuple[str, int]] = []
    for node in weight.outputs:
        found += _reached(node, weight, 2)
    return found


def _reached(node: Node, tensor: object, hops: int) -> list[tuple[str, int]]:
    at = next((k for k, t in enumerate(node.inputs) if t is tensor), None)
    if at is None:
        return []
    if hops and at == 0 and node.op in _CARRIERS and node.outputs:
        carried = node.outputs[0]
        return [place for reader in carried.outputs for place in _reached(reader, carried, hops - 1)]
    return [(node.name, at)] if node.name else []


def weight_difference(before: Constant, after: Constant) -> Difference:
    """How far B's weight is from A's, both as the graph computes with them."""
    a, b = floats(before), floats(after)
    if a.dtype != b.dtype and {a.dtype.kind, b.dtype.kind} <= set("fV"):  # a shorter float is the same weight, rounded
        a, b = a.astype(np.float32), b.astype(np.float32)
    return difference(a, b)
