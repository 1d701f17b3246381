"""Whose zeros' signs nobody can see: where −0 may as well be 0.

A sum of products starts from 0, and 0 + −0 is 0; adding a number that is not 0 hides the sign, too. Most other operations only hand it on.
"""

from __future__ import annotations

import numpy as np

from exec.lowering.units import Unit, Units

PRODUCTS = frozenset(("Conv", "ConvTranspose", "MatMul", "Gemm"))

HANDING_ON = frozenset(
    (
        "Add", "Sub", "Mul", "HardSwish", "Relu", "LeakyRelu", "Neg", "Abs", "Max", "Min", "Clip", "MaxPool", "AveragePool",
        "GlobalAveragePool", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Transpose", "Concat", "Slice", "Split",
    )
)  # fmt: skip
"""Ops whose results differ at most in the sign of a zero where their inputs do."""


def unsigned_zeros(units: Units) -> frozenset[int]:
    """The numbers whose zeros may lose their sign; `units` are in order."""
    found: set[int] = set()
    for unit in reversed(units.list):
        for number in unit.outputs:
            users = units.users.get(number, {})
            if number not in units.wanted and users and all(_hides(units, u, number, found) for u in users):
                found.add(number)
    return frozenset(found)


def _hides(units: Units, unit: Unit, number: int, found: set[int]) -> bool:
    if number in unit.captures or (unit.domain and not (unit.domain == "owb" and unit.op == "HardSwish")):
        return False
    if unit.op in PRODUCTS and number in unit.inputs[:2] and number not in unit.inputs[2:]:
        return True
    if unit.op in ("Add", "Sub") and len(unit.sources) == 1:
        others = [units.constant(n) for n in unit.inputs if n != number]
        if len(others) == 1 and others[0] is not None and np.all(others[0] != 0):
            return True
    return unit.op in HANDING_ON and all(n in found for n in unit.outputs if n >= 0)
