"""x · sigmoid(x)."""

from __future__ import annotations

import numpy as np

from exec.lowering.fusion.matching import is_op, only_used_by, other_input, replace
from exec.lowering.units import Units


def match_swish(units: Units) -> None:
    """Replace every match by a Swish unit."""
    for sigmoid in list(units.list):
        if sigmoid in units.gone or not is_op(sigmoid, "Sigmoid"):
            continue
        spec = units.specs.get(sigmoid.outputs[0])
        product = only_used_by(units, sigmoid.outputs[0], "Mul")
        if product is None or spec is None or spec.dtype != np.float32:
            continue
        if other_input(product, sigmoid.outputs[0]) == sigmoid.inputs[0]:
            replace(units, [sigmoid, product], "Swish", [sigmoid.inputs[0]])
