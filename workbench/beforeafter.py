"""A model and what was made of it, in numbers: what `edit`, `convert` and `recipe run` say they did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from exec.ir import Model
from exec.ir.model import ValueInfo
from passes.report import Census, census


@dataclass(frozen=True, slots=True)
class Moved:
    """An input or output that is another one now; None where it is not there."""

    side: str
    name: str
    before: ValueInfo | None
    after: ValueInfo | None


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """Sizes, opsets and the interface of both."""

    before: Census
    after: Census
    opset: tuple[int, int]
    interface: tuple[Moved, ...]


def before_after(before: Model, after: Model) -> BeforeAfter:
    """Count both; inputs and outputs are lined up by name."""
    return BeforeAfter(census(before), census(after), (before.opset, after.opset), tuple(_moved(before, after)))


def _moved(before: Model, after: Model) -> Iterator[Moved]:
    for side, first, second in (("input", before.inputs, after.inputs), ("output", before.outputs, after.outputs)):
        one, other = {v.name: v for v in first}, {v.name: v for v in second}
        for name in dict.fromkeys((*one, *other)):
            if one.get(name) != other.get(name):
                yield Moved(side, name, one.get(name), other.get(name))
