"""Activations and residuals that a compiled product or convolution applies to a result while it is in the cache."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from exec.lowering.fusion.matching import is_op, scalar
from exec.lowering.units import Unit, Units, is_row
from exec.program import MISSING

PRODUCERS = ("Conv", "MatMul", "Gemm")


@dataclass(frozen=True, slots=True)
class Epilogue:
    """rest: the number of what is added, or −1; before: before the activation; activation: its op, or ""; p, q: its parameters."""

    rest: int = -1
    before: bool = True
    activation: str = ""
    p: float = 0.0
    q: float = 0.0


def attach_epilogues(units: Units) -> None:
    """Hang what can be hung, as long as something can."""
    for unit in list(units.list):
        if unit in units.gone or not is_op(unit, *PRODUCERS) or not _float_with_weights(units, unit):
            continue
        epilogue = Epilogue()
        while True:
            user = units.only_user(unit.outputs[0])
            if user is None:
                break
            longer = _with(units, unit, user, epilogue)
            if longer is None:
                break
            if longer.rest != epilogue.rest:
                unit.inputs += [MISSING] * (3 - len(unit.inputs))  # the third is the bias
                units.reads_also(unit, longer.rest)
            epilogue = longer
            units.merge(unit, user)
        if epilogue != Epilogue():
            unit.extra["epilogue"] = epilogue


def _float_with_weights(units: Units, unit: Unit) -> bool:
    if "integers" in unit.extra and unit.op != "Conv":
        return False
    spec = units.specs.get(unit.outputs[0])
    if spec is None or spec.dtype != np.float32 or len(unit.inputs) < 2:
        return False
    weights = units.constant(unit.inputs[1])
    if weights is None or weights.dtype != np.float32:
        return False
    if unit.input(2) >= 0 and units.constant(unit.inputs[2]) is None:
        return False
    if unit.op == "Gemm":
        bias = units.constant(unit.inputs[2]) if unit.input(2) >= 0 else None
        if bias is not None and not is_row(bias.shape, spec.shape[1]):
            return False
        return unit.opset >= 7 and all(float(unit.attributes.get(name, 1.0)) == 1.0 for name in ("alpha", "beta"))
    return spec.ndim in (3, 4) if unit.op == "Conv" else weights.ndim == 2


def _with(units: Units, unit: Unit, user: Unit, epilogue: Epilogue) -> Epilogue | None:
    """The epilogue with `user` at its end, or None."""
    number = unit.outputs[0]
    spec = units.specs[number]
    if units.specs.get(user.outputs[0]) != spec:
        return None
    if is_op(user, "Add", "Sum") and len(user.inputs) == 2 and user.inputs.count(number) == 1:
        other = user.inputs[1] if user.inputs[0] == number else user.inputs[0]
        if user.opset < 7 and is_op(user, "Add"):
            return None
        if _is_bias(units, unit, other, epilogue):
            unit.inputs.append(other)
            return epilogue
        other_spec = units.spec(other)
        if epilogue.rest >= 0 or other_spec != spec or units.constant(other) is not None:
            return None
        return replace(epilogue, rest=other, before=not epilogue.activation)
    if epilogue.activation or user.inputs[0] != number:
        return None
    found = activation_of(units, user)
    return None if found is None else replace(epilogue, activation=found[0], p=found[1], q=found[2])


def _is_bias(units: Units, unit: Unit, other: int, epilogue: Epilogue) -> bool:
    """Whether adding `other` is the bias a MatMul does not have."""
    if unit.op != "MatMul" or len(unit.inputs) > 2 or epilogue != Epilogue():
        return False
    value, columns = units.constant(other), units.specs[unit.outputs[0]].shape[-1]
    return value is not None and value.dtype == np.float32 and is_row(value.shape, columns)


def activation_of(units: Units, unit: Unit) -> tuple[str, float, float] | None:
    """(op, p, q) of a unit that is an activation of its first input."""
    a = unit.attributes
    if is_op(unit, "Relu", "Sigmoid", "Tanh", "Erf", "HardSwish"):
        return unit.op, 0.0, 0.0
    if is_op(unit, "Gelu"):
        return ("Gelu" if a.get("approximate", "none") == "none" else "GeluTanh"), 0.0, 0.0
    if is_op(unit, "Swish"):
        return unit.op, float(a.get("alpha", 1.0)), 0.0
    if is_op(unit, "LeakyRelu"):
        return unit.op, float(a.get("alpha", 0.01)), 0.0
    if is_op(unit, "Elu"):
        return unit.op, float(a.get("alpha", 1.0)), 0.0
    if is_op(unit, "HardSigmoid"):
        return unit.op, float(a.get("alpha", 0.2)), float(a.get("beta", 0.5))
    if is_op(unit, "Clip"):
        bounds = clip_bounds(units, unit)
        return None if bounds is None else ("Clip", *bounds)
    return None


def clip_bounds(units: Units, unit: Unit) -> tuple[float, float] | None:
    """The bounds of a Clip if they are the same in every run."""
    if unit.opset < 11:
        limit = float(np.finfo(np.float32).max)
        return float(unit.attributes.get("min", -limit)), float(unit.attributes.get("max", limit))
    bounds = [-np.inf, np.inf]
    for k in (1, 2):
        if unit.input(k) >= 0:
            value = scalar(units, unit.inputs[k])
            if value is None:
                return None
            bounds[k - 1] = value
    return bounds[0], bounds[1]
