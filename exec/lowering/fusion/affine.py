"""A per-channel scale or shift behind a convolution goes into its weights."""

from __future__ import annotations

from functools import partial

import numpy as np

from exec.arrays import Array
from exec.lowering.fusion.matching import is_op, only_used_by, other_input
from exec.lowering.ops.affine import normalization_factors
from exec.lowering.packs import Packs
from exec.lowering.units import Unit, Units

FOLDABLE = ("BatchNormalization", "Mul", "Add", "Sub", "Div")


def fold_affine(units: Units, packs: Packs) -> None:
    """Fold as long as something folds: Conv, BatchNormalization, Mul, Add in a row become one Conv."""
    for unit in list(units.list):
        if unit in units.gone or not is_op(unit, "Conv", "ConvTranspose"):
            continue
        while (user := only_used_by(units, unit.outputs[0], *FOLDABLE)) is not None:
            factors = _factors(units, unit, user)
            if factors is None or not _fold(units, unit, user, factors, packs):
                break


def _factors(units: Units, unit: Unit, user: Unit) -> tuple[Array | None, Array | None] | None:
    """(scale, shift) per output channel, None for 1 and 0; None if `user` is something else."""
    number = unit.outputs[0]
    spec = units.specs.get(number)
    if spec is None or spec.dtype != np.float32 or units.specs.get(user.outputs[0]) != spec:
        return None
    if user.op == "BatchNormalization":
        return normalization_factors(units, user) if user.inputs[0] == number else None
    other = other_input(user, number)
    value = None if other is None or user.opset < 7 else units.constant(other)
    if value is None or value.dtype != np.float32:
        return None
    vector = per_channel(value, spec.ndim, spec.shape[1])
    if vector is None:
        return None
    if user.op == "Mul":
        return vector, None
    if user.op == "Div":
        if user.inputs[0] != number:
            return None
        with np.errstate(all="ignore"):
            inverse = np.float32(1) / vector
        return (inverse, None) if np.isfinite(inverse).all() else None
    if user.op == "Add":
        return None, vector
    ones = np.ones_like(vector)
    return (None, -vector) if user.inputs[0] == number else (-ones, vector)


def per_channel(value: Array, rank: int, channels: int) -> Array | None:
    """A constant that broadcasts along axis 1 only, as a vector over the channels."""
    if value.size == 1 and value.ndim <= rank:
        return np.full(channels, value.reshape(()))
    shape = (1,) * (rank - value.ndim) + value.shape
    if len(shape) != rank or shape[1] != channels or any(n != 1 for k, n in enumerate(shape) if k != 1):
        return None
    return value.reshape(-1)


def _fold(units: Units, unit: Unit, user: Unit, factors: tuple[Array | None, Array | None], packs: Packs) -> bool:
    scale, shift = factors
    weights = units.constant(unit.inputs[1])
    given = units.constant(unit.inputs[2]) if unit.input(2) >= 0 else None
    if weights is None or weights.dtype != np.float32 or (unit.input(2) >= 0 and given is None):
        return False
    if scale is not None and not np.isfinite(scale).all():
        return False
    transposed = unit.op == "ConvTranspose"
    group = int(unit.attributes.get("group", 1))
    outputs = weights.shape[1] * group if transposed else weights.shape[0]
    bias = np.zeros(outputs, np.float32) if given is None else given
    if scale is not None:
        recipe = ("scaled", scale.tobytes(), group)
        weights = packs.get(weights, recipe, partial(_scaled, weights, scale, group, transposed))
        bias = bias * scale
    if shift is not None:
        bias = bias + shift
    unit.inputs = [unit.inputs[0], units.add_constant(weights), units.add_constant(bias.astype(np.float32))]
    units.merge(unit, user)
    return True


def _scaled(weights: Array, scale: Array, group: int, transposed: bool) -> Array:
    spatial = [1] * (weights.ndim - 2)
    if not transposed:
        return np.asarray(weights * scale.reshape(-1, 1, *spatial))
    parts = weights.reshape(group, -1, *weights.shape[1:])
    return np.asarray(parts * scale.reshape(group, 1, -1, *spatial)).reshape(weights.shape)
