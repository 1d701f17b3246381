"""Gelu spelled out: x · ½ · (1 + erf(x/√2)) in the orders exporters write it."""

from __future__ import annotations

import math

import numpy as np

from exec.lowering.fusion.matching import constant_operand, is_op, made_by, only_used_by, private, replace, scalar
from exec.lowering.units import Unit, Units


def match_gelu(units: Units) -> None:
    """Replace every match by a Gelu unit."""
    for erf in list(units.list):
        if erf not in units.gone and is_op(erf, "Erf"):
            _match(units, erf)


def _match(units: Units, erf: Unit) -> None:
    scaled = made_by(units, erf.inputs[0], "Div", "Mul")
    x = None if scaled is None else _divided(units, scaled)
    if scaled is None or x is None or units.specs[erf.outputs[0]].dtype != np.float32:
        return
    plus = only_used_by(units, erf.outputs[0], "Add")
    one = None if plus is None else constant_operand(units, plus)
    if plus is None or one is None or one[1] != 1.0:
        return
    # (1 + erf)·x·½, (1 + erf)·(x·½) or (1 + erf)·½·x: two products, one of them by ½.
    first = only_used_by(units, plus.outputs[0], "Mul")
    if first is None:
        return
    members = [scaled, erf, plus]
    other = first.inputs[1] if first.inputs[0] == plus.outputs[0] else first.inputs[0]
    half = made_by(units, other, "Mul")
    if half is not None and constant_operand(units, half) == (x, 0.5):
        members += [half, first]
    else:
        second = only_used_by(units, first.outputs[0], "Mul")
        if second is None:
            return
        last = second.inputs[1] if second.inputs[0] == first.outputs[0] else second.inputs[0]
        if not ((other == x and scalar(units, last) == 0.5) or (last == x and scalar(units, other) == 0.5)):
            return
        members += [first, second]
    if private(units, [n for m in members[:-1] for n in m.outputs], set(members)):
        replace(units, members, "Gelu", [x])


def _divided(units: Units, unit: Unit) -> int | None:
    """x of x/√2."""
    if unit.op == "Div":
        value = scalar(units, unit.inputs[1])
        return unit.inputs[0] if value is not None and math.isclose(value, math.sqrt(2), rel_tol=1e-6) else None
    found = constant_operand(units, unit)
    return found[0] if found is not None and math.isclose(found[1], math.sqrt(0.5), rel_tol=1e-6) else None
