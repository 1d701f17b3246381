"""An inference BatchNormalization by itself: one multiply and one add per element."""

from __future__ import annotations

from functools import partial

import numpy as np

from exec.arrays import Array
from exec.lowering.builder import Builder, Step
from exec.lowering.registry import lowering
from exec.lowering.units import Unit, Units


@lowering("BatchNormalization")
def batch_normalization(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    factors = normalization_factors(b.units, unit)
    if x.dtype != np.float32 or factors is None:
        return False
    column = (-1, *[1] * (x.ndim - 2)) if x.ndim > 1 else (-1,)
    scale, shift = (b.constant(f.reshape(column)) for f in factors)
    b.emit(_affine, b.new_or_reused(unit.outputs[0], x), x, scale, shift)
    return True


def normalization_factors(units: Units, unit: Unit) -> tuple[Array, Array] | None:
    """(scale, shift) of an inference BatchNormalization whose statistics are constants, one per channel, in float32."""
    given = [units.constant(n) for n in unit.inputs[1:5]]
    if any(v is None for v in given) or any(n >= 0 for n in unit.outputs[1:]):
        return None
    if unit.attributes.get("training_mode") or unit.attributes.get("spatial", 1) != 1:
        return None
    scale, bias, mean, var = (np.asarray(v, np.float64) for v in given)
    factor = scale / np.sqrt(var + float(unit.attributes.get("epsilon", 1e-5)))
    return factor.astype(np.float32), (bias - mean * factor).astype(np.float32)


def _affine(out: Array, x: Array, scale: Array, shift: Array) -> list[Step]:
    return [partial(np.multiply, x, scale, out), partial(np.add, out, shift, out)]
