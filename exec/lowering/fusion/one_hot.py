"""Rows of a matrix chosen by multiplying it with ones and zeros: Cast(Equal(i, 0…K−1)) · W is a look-up."""

from __future__ import annotations

import numpy as np

from exec.lowering.fusion.matching import is_op, made_by, private, replace
from exec.lowering.units import Unit, Units


def match_one_hot(units: Units) -> None:
    """Replace every match by a LookUp unit; of a matrix with NaN or ∞ the product is something else."""
    for product in list(units.list):
        if product not in units.gone and is_op(product, "MatMul"):
            _match(units, product)


def _match(units: Units, product: Unit) -> None:
    weights = units.constant(product.inputs[1])
    cast = made_by(units, product.inputs[0], "Cast")
    equal = None if cast is None else made_by(units, cast.inputs[0], "Equal")
    if weights is None or weights.ndim != 2 or weights.dtype != np.float32 or cast is None or equal is None:
        return
    if product.outputs[0] in units.narrow or not np.isfinite(weights).all():
        return
    for index, numbers in (equal.inputs, equal.inputs[::-1]):
        spec, counted = units.specs.get(index), units.constant(numbers)
        if spec is None or counted is None or spec.dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
            continue
        whole = units.specs[equal.outputs[0]].shape
        if spec.shape != (*whole[:-1], 1) or not np.array_equal(counted.reshape(-1), np.arange(len(weights))):
            continue
        members = [equal, cast, product]
        if private(units, [equal.outputs[0], cast.outputs[0]], set(members)):
            unit = replace(units, members, "LookUp", [index, product.inputs[1]])
            unit.domain = "owb"
        return
