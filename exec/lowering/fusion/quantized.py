"""DequantizeLinear, operation, QuantizeLinear: on integers where the CPU has the instruction, in one sweep elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from exec.arrays import Array
from exec.lowering.fusion.matching import is_op, made_by, replace
from exec.lowering.units import Unit, Units

BYTE = (np.dtype(np.uint8), np.dtype(np.int8))


@dataclass(frozen=True, slots=True)
class Integers:
    """A product on bytes.

    weights  the bytes in the layout of the float weights; zeros, their zero points, per output or one
    scale    of the result per output: input scale times weight scale
    zero     the input's zero point, or None
    """

    weights: Array
    zeros: Array | None
    scale: Array
    zero: Array | None


def use_integers(units: Units) -> None:
    """Let Conv, MatMul and Gemm read the bytes in front of a DequantizeLinear."""
    for unit in list(units.list):
        if unit in units.gone or not is_op(unit, "Conv", "MatMul", "Gemm"):
            continue
        source = made_by(units, unit.inputs[0], "DequantizeLinear")
        if source is None or len(unit.inputs) < 2:
            continue
        found = _integers(units, unit, source)
        if found is not None:
            _read_bytes(units, unit, source, found)


def _integers(units: Units, unit: Unit, source: Unit) -> Integers | None:
    weights = units.dequantized.get(unit.inputs[1])
    spec, input_scale = units.spec(source.inputs[0]), units.constant(source.inputs[1])
    if weights is None or spec is None or spec.dtype not in BYTE or input_scale is None or input_scale.size != 1:
        return None
    if input_scale.dtype != np.float32 or units.specs.get(unit.outputs[0]) is None:
        return None
    zero = units.constant(source.inputs[2]) if source.input(2) >= 0 else None
    if (source.input(2) >= 0 and zero is None) or (zero is not None and zero.size != 1):
        return None
    values = weights.values
    if unit.op != "Conv":
        if values.ndim != 2 or any(float(unit.attributes.get(name, 1.0)) != 1.0 for name in ("alpha", "beta")):
            return None
        if unit.attributes.get("transA"):
            return None
    outputs_axis = 0 if unit.op == "Conv" or unit.attributes.get("transB") else 1
    if weights.scale.size > 1 and weights.axis % values.ndim != outputs_axis:
        return None
    if unit.input(2) >= 0 and units.constant(unit.inputs[2]) is None:
        return None
    scale = np.broadcast_to(weights.scale.reshape(-1) * input_scale.reshape(-1), (values.shape[outputs_axis],))
    zeros = weights.zero if weights.zero is not None and np.any(weights.zero) else None
    return Integers(values, zeros, np.ascontiguousarray(scale, np.float32), zero)


def _read_bytes(units: Units, unit: Unit, source: Unit, found: Integers) -> None:
    before = unit.inputs[0]
    units.users[before].pop(unit, None)
    unit.inputs[0] = source.inputs[0]
    units.users.setdefault(source.inputs[0], {})[unit] = None
    unit.extra["integers"] = found
    unit.sources = source.sources + unit.sources
    if not units.users[before] and before not in units.wanted:
        units.remove(source)
        units.maker.pop(before, None)


def merge_pairs(units: Units) -> None:
    """QuantizeLinear and DequantizeLinear with nothing between them only round: one elementwise unit, no bytes."""
    for unit in list(units.list):
        if unit in units.gone or not is_op(unit, "DequantizeLinear"):
            continue
        maker = made_by(units, unit.inputs[0], "QuantizeLinear")
        if maker is None or units.only_user(unit.inputs[0]) is not unit:
            continue
        limits = _limits(units, maker, unit)
        if limits is not None:
            scale, low, high = limits
            made = replace(units, [maker, unit], "Rounding", [maker.inputs[0]], scale=scale, low=low, high=high)
            made.domain = "owb"


def _limits(units: Units, quantize: Unit, dequantize: Unit) -> tuple[Array, float, float] | None:
    """(scale, lowest, highest whole number, the zero point counted as 0), if both ends agree and are known."""
    spec, x = units.spec(dequantize.inputs[0]), units.spec(quantize.inputs[0])
    scales = [units.constant(u.inputs[1]) for u in (quantize, dequantize)]
    if spec is None or spec.dtype not in BYTE or x is None or x.dtype != np.float32:
        return None
    if any(s is None or s.size != 1 or s.dtype != np.float32 for s in scales):
        return None
    zeros = [
        units.constant(u.inputs[2]) if u.input(2) >= 0 else np.zeros((), spec.dtype) for u in (quantize, dequantize)
    ]
    if any(z is None or z.size != 1 for z in zeros):
        return None
    first, second, near, far = scales[0], scales[1], zeros[0], zeros[1]
    assert first is not None
    assert second is not None
    assert near is not None
    assert far is not None
    if float(first.reshape(())) != float(second.reshape(())) or int(near.reshape(())) != int(far.reshape(())):
        return None
    info, zero = np.iinfo(spec.dtype), int(near.reshape(()))
    return first.reshape(()), float(info.min - zero), float(info.max - zero)
