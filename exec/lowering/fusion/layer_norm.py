"""LayerNormalization spelled out: mean, difference, mean of squares, root, quotient, scale, shift; or instances of one axis, then those."""

from __future__ import annotations

import numpy as np

from exec.lowering.fusion.matching import constant_operand, is_op, only_used_by, other_input, private, replace, scalar
from exec.lowering.units import Unit, Units


def match_layer_norm(units: Units) -> None:
    """Replace every match by a LayerNormalization unit."""
    for mean in list(units.list):
        if mean not in units.gone and is_op(mean, "ReduceMean"):
            _match(units, mean)
    for instances in list(units.list):
        if instances not in units.gone and is_op(instances, "InstanceNormalization"):
            _match_instances(units, instances)


def _match(units: Units, mean: Unit) -> None:
    x = mean.inputs[0]
    spec = units.specs.get(x)
    if spec is None or spec.dtype != np.float32 or not _over_last(units, mean, spec.ndim):
        return
    centred = only_used_by(units, mean.outputs[0], "Sub")
    if centred is None or centred.inputs[0] != x or centred.inputs[1] != mean.outputs[0]:
        return
    d = centred.outputs[0]
    square = next((u for u in units.users.get(d, ()) if _squares(units, u, d)), None)
    variance = None if square is None else only_used_by(units, square.outputs[0], "ReduceMean")
    if square is None or variance is None or not _over_last(units, variance, spec.ndim):
        return
    shifted = only_used_by(units, variance.outputs[0], "Add")
    epsilon = None if shifted is None else constant_operand(units, shifted)
    root = None if shifted is None else only_used_by(units, shifted.outputs[0], "Sqrt")
    if shifted is None or epsilon is None or root is None:
        return
    quotient = only_used_by(units, root.outputs[0], "Div")
    if quotient is None or quotient.inputs != [d, root.outputs[0]]:
        return
    _replace(units, [mean, centred, square, variance, shifted, root, quotient], x, spec.shape[-1], epsilon[1])


def _match_instances(units: Units, instances: Unit) -> None:
    """Over (N, C, length) with a scale of ones and no bias: each row on its own, as in a layer's."""
    x, scale, bias = instances.inputs
    spec, ones, zeros = units.specs.get(x), units.constant(scale), units.constant(bias)
    if spec is None or spec.dtype != np.float32 or spec.ndim != 3 or ones is None or zeros is None:
        return
    if np.all(ones == 1) and not np.any(zeros):
        _replace(units, [instances], x, spec.shape[-1], float(instances.attributes.get("epsilon", 1e-5)))


def _replace(units: Units, members: list[Unit], x: int, length: int, epsilon: float) -> None:
    """One unit for `members` and the scale and shift by vectors behind them."""
    normalized = members[-1].outputs[0]
    scaled = only_used_by(units, normalized, "Mul")
    scale = None if scaled is None else _vector(units, other_input(scaled, normalized), length)
    if scaled is None or scale is None:
        return
    members.append(scaled)
    inputs = [x, scale]
    biased = only_used_by(units, scaled.outputs[0], "Add")
    bias = None if biased is None else _vector(units, other_input(biased, scaled.outputs[0]), length)
    if biased is not None and bias is not None:
        members.append(biased)
        inputs.append(bias)
    inner = [n for m in members[:-1] for n in m.outputs]
    if private(units, inner, set(members)):
        replace(units, members, "LayerNormalization", inputs, axis=-1, epsilon=epsilon)


def _over_last(units: Units, unit: Unit, rank: int) -> bool:
    axes = unit.attributes.get("axes")
    if axes is None and unit.input(1) >= 0:
        given = units.constant(unit.inputs[1])
        axes = None if given is None else given.tolist()
    return axes is not None and [a % rank for a in axes] == [rank - 1] and bool(unit.attributes.get("keepdims", 1))


def _squares(units: Units, unit: Unit, number: int) -> bool:
    if is_op(unit, "Pow"):
        return unit.inputs[0] == number and scalar(units, unit.inputs[1]) == 2.0
    return is_op(unit, "Mul") and unit.inputs == [number, number]


def _vector(units: Units, number: int | None, length: int) -> int | None:
    value = None if number is None else units.constant(number)
    return number if value is not None and value.dtype == np.float32 and value.shape == (length,) else None
