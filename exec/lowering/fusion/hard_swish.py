"""HardSigmoid and HardSwish spelled out: clip(x + 3, 0, 6) / 6, alone or times x, in the orders exporters write it."""

from __future__ import annotations

import math

import numpy as np

from exec.lowering.fusion.epilogue import clip_bounds
from exec.lowering.fusion.matching import constant_operand, is_op, made_by, only_used_by, other_input, replace
from exec.lowering.units import Unit, Units


def match_hard_swish(units: Units) -> None:
    """Replace every match, and a HardSigmoid times its input, by one unit."""
    for clip in list(units.list):
        if clip not in units.gone and is_op(clip, "Clip"):
            _from_clip(units, clip)
    for gate in list(units.list):
        if gate not in units.gone and is_op(gate, "HardSigmoid") and _is_sixth(gate):
            product = only_used_by(units, gate.outputs[0], "Mul")
            if product is not None and other_input(product, gate.outputs[0]) == gate.inputs[0]:
                replace(units, [gate, product], "HardSwish", [gate.inputs[0]])


def _is_sixth(gate: Unit) -> bool:
    alpha, beta = gate.attributes.get("alpha", 0.2), gate.attributes.get("beta", 0.5)
    return math.isclose(alpha, 1 / 6, rel_tol=1e-6) and beta == 0.5


def _from_clip(units: Units, clip: Unit) -> None:
    add = made_by(units, clip.inputs[0], "Add")
    shifted = None if add is None else constant_operand(units, add)
    if add is None or shifted is None or shifted[1] != 3.0 or clip_bounds(units, clip) != (0.0, 6.0):
        return
    x, spec = shifted[0], units.specs.get(clip.outputs[0])
    if spec is None or spec.dtype != np.float32 or units.spec(x) != spec:
        return
    if units.only_user(add.outputs[0]) is not clip:
        return
    scaled = _sixth(units, clip.outputs[0])
    if scaled is not None:  # (clip / 6), then perhaps times x
        gate = replace(units, [add, clip, scaled], "HardSigmoid", [x], alpha=1 / 6, beta=0.5)
        product = only_used_by(units, gate.outputs[0], "Mul")
        if product is not None and other_input(product, gate.outputs[0]) == x:
            replace(units, [gate, product], "HardSwish", [x])
        return
    product = only_used_by(units, clip.outputs[0], "Mul")
    if product is None or other_input(product, clip.outputs[0]) != x:
        return
    scaled = _sixth(units, product.outputs[0])
    if scaled is not None:
        replace(units, [add, clip, product, scaled], "HardSwish", [x])


def _sixth(units: Units, number: int) -> Unit | None:
    """The only reader of `number`, if it divides by six."""
    user = only_used_by(units, number, "Div", "Mul")
    if user is None:
        return None
    found = constant_operand(units, user)
    if found is None or found[0] != number or (user.op == "Div" and user.inputs[0] != number):
        return None
    wanted = 6.0 if user.op == "Div" else 1 / 6
    return user if math.isclose(found[1], wanted, rel_tol=1e-6) else None
