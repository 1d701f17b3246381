"""Looking at a unit's surroundings."""

from __future__ import annotations

from collections.abc import Sequence

from exec.lowering.units import Unit, Units


def scalar(units: Units, number: int) -> float | None:
    """The value of a constant with one element."""
    value = units.constant(number)
    return float(value.reshape(())) if value is not None and value.size == 1 and value.dtype.kind in "fiu" else None


def is_op(unit: Unit | None, *ops: str) -> bool:
    """Whether a unit is one of the standard's `ops`."""
    return unit is not None and unit.domain == "" and unit.op in ops


def made_by(units: Units, number: int, *ops: str) -> Unit | None:
    """The unit that makes `number`, if it is one of `ops`."""
    maker = units.maker.get(number)
    return maker if is_op(maker, *ops) else None


def only_used_by(units: Units, number: int, *ops: str) -> Unit | None:
    """The only reader of `number`, if it is one of `ops`."""
    user = units.only_user(number)
    return user if user is not None and is_op(user, *ops) else None


def other_input(unit: Unit, number: int) -> int | None:
    """The other operand of a binary unit that reads `number` once."""
    if len(unit.inputs) != 2 or unit.inputs.count(number) != 1:
        return None
    return unit.inputs[1] if unit.inputs[0] == number else unit.inputs[0]


def constant_operand(units: Units, unit: Unit) -> tuple[int, float] | None:
    """(the variable operand, the scalar constant) of a commutative binary unit."""
    for k in (0, 1):
        value = scalar(units, unit.inputs[k])
        if value is not None and units.constant(unit.inputs[1 - k]) is None:
            return unit.inputs[1 - k], value
    return None


def private(units: Units, numbers: Sequence[int], members: set[Unit]) -> bool:
    """Whether nobody but `members` reads the numbers."""
    return all(n not in units.wanted and all(u in members for u in units.users.get(n, ())) for n in numbers)


def replace(units: Units, members: Sequence[Unit], op: str, inputs: list[int], **attributes: object) -> Unit:
    """One unit in place of `members`, whose last one's outputs it makes."""
    last = members[-1]
    unit = Unit(
        op, "", last.opset, dict(attributes), inputs, list(last.outputs), [s for m in members for s in m.sources]
    )
    for member in members:
        units.remove(member)
        for number in member.outputs:
            units.maker.pop(number, None)
    units.list.insert(units.list.index(last), unit)
    for number in unit.outputs:
        if number >= 0:
            units.maker[number] = unit
    for number in set(unit.reads):
        units.users.setdefault(number, {})[unit] = None
    return unit
