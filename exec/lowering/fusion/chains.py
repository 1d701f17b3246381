"""Elementwise operations that feed each other, as one program over tiles."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from exec.lowering.fusion.epilogue import activation_of
from exec.lowering.fusion.matching import is_op, scalar
from exec.lowering.ops.affine import normalization_factors
from exec.lowering.units import Unit, Units
from exec.trace import Spec

BINARY = {"Add": "Add", "Sum": "Add", "Sub": "Sub", "Mul": "Mul", "Div": "Div", "Max": "Max", "Min": "Min"}
PLAIN = ("Sqrt", "Exp", "Abs", "Neg", "Reciprocal", "Floor", "Ceil", "Round")
POWERS = {2.0: "Square", 0.5: "Sqrt", -1.0: "Reciprocal", 1.0: ""}

MOST_INSTRUCTIONS = 24


@dataclass(slots=True)
class Instruction:
    """One step: `op` on value numbers. Of a function of one value, `second` is −1 and p, q are its parameters."""

    op: str
    first: int
    second: int
    result: int
    p: float = 0.0
    q: float = 0.0


@dataclass(slots=True)
class Chain:
    """A program; what its instructions read and none of them makes comes from outside."""

    instructions: list[Instruction] = field(default_factory=list)
    result: int = -1


def build_chains(units: Units) -> None:
    """Replace elementwise units by chains, the last of each group first."""
    place = {unit: k for k, unit in enumerate(units.list)}
    chains: dict[Unit, Unit] = {}
    for unit in reversed(list(units.list)):
        if unit in units.gone or instructions_of(units, unit) is None:
            continue
        members = sorted(_grown(units, unit), key=place.__getitem__)
        if len(members) == 1 and is_op(unit, "Tanh"):
            continue  # alone, numpy's is twice as fast
        chain = Chain(result=unit.outputs[0])
        for member in members:
            chain.instructions += instructions_of(units, member) or []
        made = {i.result for i in chain.instructions}
        reads = [n for i in chain.instructions for n in (i.first, i.second) if n >= 0 and n not in made]
        chains[unit] = _replaced(units, members, list(dict.fromkeys(reads)), chain)
    units.list = [entry for unit in units.list for entry in ((chains[unit], unit) if unit in chains else (unit,))]


def _grown(units: Units, last: Unit) -> set[Unit]:
    """`last` and the elementwise units before it whose results nobody else reads."""
    spec = units.specs[last.outputs[0]]
    members = {last}
    pending = [last]
    count = len(instructions_of(units, last) or [])
    while pending:
        unit = pending.pop()
        for number in unit.inputs:
            maker = units.maker.get(number)
            if maker is None or maker in members or number in units.wanted or units.specs.get(number) != spec:
                continue
            if any(user not in members for user in units.users.get(number, ())):
                continue
            steps = instructions_of(units, maker)
            if steps is None or count + len(steps) > MOST_INSTRUCTIONS:
                continue
            members.add(maker)
            count += len(steps)
            pending = list(members)  # a new member may complete the readers of a value that was left out
            break
    return members


def _replaced(units: Units, members: list[Unit], reads: list[int], chain: Chain) -> Unit:
    """The unit that takes the place of `members` among the makers and readers of values."""
    last = members[-1]
    unit = Unit(
        "Chain", "owb", 1, {}, reads, [last.outputs[0]], [s for m in members for s in m.sources], extra={"chain": chain}
    )
    for member in members:
        units.remove(member)
        for number in member.outputs:
            units.maker.pop(number, None)
    units.maker[last.outputs[0]] = unit
    for number in set(unit.reads):
        units.users.setdefault(number, {})[unit] = None
    return unit


def instructions_of(units: Units, unit: Unit) -> list[Instruction] | None:
    """What a unit is as instructions; None if it is not elementwise on float32."""
    if "epilogue" in unit.extra or len([n for n in unit.outputs if n >= 0]) != 1 or not unit.inputs:
        return None
    result = unit.outputs[0]
    spec = units.specs.get(result)
    if spec is None or spec.dtype != np.float32 or spec.size == 0:
        return None
    if unit.domain == "owb" and unit.op == "Chain":
        return None
    first = unit.inputs[0]
    if is_op(unit, *BINARY) and len(unit.inputs) == 2 and unit.opset >= (8 if unit.op in ("Max", "Min", "Sum") else 7):
        return _two(units, BINARY[unit.op], unit, spec)
    if is_op(unit, "PRelu") and unit.opset >= 7 and units.spec(first) == spec:
        return _two(units, "PRelu", unit, spec)
    if units.spec(first) != spec:
        return None
    if is_op(unit, *PLAIN):
        return [Instruction(unit.op, first, -1, result)]
    if is_op(unit, "Pow"):
        op = POWERS.get(scalar(units, unit.inputs[1]) or 0.0)
        return [Instruction(op, first, -1, result)] if op else None
    if is_op(unit, "BatchNormalization"):
        return _affine(units, unit, spec)
    if unit.domain == "owb" and unit.op == "Rounding":
        return _rounding(units, unit, spec)
    found = activation_of(units, unit)
    return None if found is None else [Instruction(found[0], first, -1, result, found[1], found[2])]


def _rounding(units: Units, unit: Unit, spec: Spec) -> list[Instruction]:
    made = unit.extra.get("rounding")
    if made is None:
        a = unit.attributes
        constants = [units.add_constant(np.asarray(a[name], np.float32)) for name in ("scale", "low", "high")]
        made = unit.extra["rounding"] = (*constants, *(units.fresh(spec) for _ in range(4)))
    scale, low, high, ratio, whole, above, inside = made
    return [
        Instruction("Div", unit.inputs[0], scale, ratio),
        Instruction("Round", ratio, -1, whole),
        Instruction("Max", whole, low, above),  # of NaN and a number the second is taken: NaN becomes the lowest value
        Instruction("Min", above, high, inside),
        Instruction("Mul", inside, scale, unit.outputs[0]),
    ]


def _two(units: Units, op: str, unit: Unit, spec: Spec) -> list[Instruction] | None:
    for number in unit.inputs:
        other = units.spec(number)
        if other is None or other.dtype != np.float32 or len(other.shape) > len(spec.shape):
            return None
    if all(units.constant(n) is not None for n in unit.inputs):
        return None
    return [Instruction(op, unit.inputs[0], unit.inputs[1], unit.outputs[0])]


def _affine(units: Units, unit: Unit, spec: Spec) -> list[Instruction] | None:
    made = unit.extra.get("affine")
    if made is None:
        factors = normalization_factors(units, unit)
        if factors is None:
            return None
        column = (-1, *[1] * (spec.ndim - 2))
        numbers = [units.add_constant(f.reshape(column)) for f in factors]
        made = unit.extra["affine"] = (*numbers, units.fresh(spec))
    scale, shift, middle = made
    return [
        Instruction("Mul", unit.inputs[0], scale, middle),
        Instruction("Add", middle, shift, unit.outputs[0]),
    ]
