"""Gelu by tanh spelled out: ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))), its products in any order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from exec.lowering.fusion.matching import constant_operand, is_op, made_by, only_used_by, private, replace, scalar
from exec.lowering.units import Unit, Units

LINEAR, CUBIC = math.sqrt(2 / math.pi), 0.044715


@dataclass(frozen=True)
class Product:
    """constant · x^power · others, and the units that make it."""

    constant: float
    power: int
    others: tuple[int, ...]
    members: tuple[Unit, ...] = ()

    def __mul__(self, other: Product) -> Product:
        return Product(
            self.constant * other.constant,
            self.power + other.power,
            self.others + other.others,
            self.members + other.members,
        )

    def near(self, constant: float, power: int, *others: int) -> bool:
        """Whether it is that, as exporters round constants."""
        same = math.isclose(self.constant, constant, rel_tol=1e-4)
        return same and self.power == power and self.others == others


def match_gelu_tanh(units: Units) -> None:
    """Replace every match by a Gelu unit."""
    for tanh in list(units.list):
        if tanh in units.gone or not is_op(tanh, "Tanh"):
            continue
        spec = units.specs.get(tanh.outputs[0])  # none where a size hangs on the data
        if spec is not None and spec.dtype == np.float32:
            _match(units, tanh)


def _match(units: Units, tanh: Unit) -> None:
    plus = only_used_by(units, tanh.outputs[0], "Add")
    one = None if plus is None else constant_operand(units, plus)
    if plus is None or one is None or one[1] != 1.0:
        return
    for x, inner in _arguments(units, tanh.inputs[0]):
        product = plus
        for _ in range(2):
            above = only_used_by(units, product.outputs[0], "Mul")
            if above is None:
                break
            product = above
            whole = factors(units, product.outputs[0], x, stop=plus.outputs[0])
            if whole.near(0.5, 1, plus.outputs[0]):
                _replace(units, x, {*inner, tanh, plus, *whole.members}, product)
                return


def _arguments(units: Units, number: int) -> Iterator[tuple[int, tuple[Unit, ...]]]:
    """Every x of which a value may be √(2/π)·(x + 0.044715·x³) or √(2/π)·x·(1 + 0.044715·x²), and the units that make it."""
    outer = factors(units, number)
    for other in outer.others:
        added = made_by(units, other, "Add")
        if added is None or len(added.inputs) != 2:
            continue
        for x, rest in (added.inputs, added.inputs[::-1]):
            cubic = factors(units, rest, x)
            if outer.near(LINEAR, 0, other) and cubic.near(CUBIC, 3):
                yield x, (*outer.members, added, *cubic.members)
        one = constant_operand(units, added)
        for x in outer.others:
            if one is None or one[1] != 1.0 or x == other:
                continue
            square, around = factors(units, one[0], x), factors(units, number, x)
            if square.near(CUBIC, 2) and around.near(LINEAR, 1, other):
                yield x, (*around.members, added, *square.members)


def factors(units: Units, number: int, x: int | None = None, stop: int | None = None) -> Product:
    """A value as a product: constants gathered, powers of `x` counted; `stop` is not looked into."""
    if number == x:
        return Product(1.0, 1, ())
    value = scalar(units, number)
    if value is not None:
        return Product(value, 0, ())
    maker = None if number == stop else made_by(units, number, "Mul", "Pow")
    if maker is not None and maker.op == "Mul":
        return Product(1.0, 0, (), (maker,)) * factors(units, maker.inputs[0], x, stop) * factors(units, maker.inputs[1], x, stop)  # fmt: skip
    if maker is not None and maker.inputs[0] == x:
        power = scalar(units, maker.inputs[1])
        if power in (2.0, 3.0):
            return Product(1.0, int(power), (), (maker,))
    return Product(1.0, 0, (number,))


def _replace(units: Units, x: int, found: set[Unit], last: Unit) -> None:
    members = [unit for unit in units.list if unit in found and unit is not last] + [last]
    if private(units, [n for m in members[:-1] for n in m.outputs], set(members)):
        replace(units, members, "Gelu", [x], approximate="tanh")
