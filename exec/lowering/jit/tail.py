"""What fusion hung onto a product or a convolution: bias, residual, activation, as the numbers kernels take."""

from __future__ import annotations

import math
from dataclasses import dataclass

from exec.compiled.activation import CLIP, NONE, NUMBERS, RELU
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder
from exec.lowering.fusion.epilogue import Epilogue
from exec.lowering.units import Unit


@dataclass(frozen=True, slots=True)
class Tail:
    """bias, rest: slots or None; before: whether rest is added before the activation; code, p, q: the activation."""

    bias: Slot | None
    rest: Slot | None
    before: int
    code: int
    p: float
    q: float

    @property
    def ends(self) -> int:
        """1 if the tail needs a pass of its own; bounds and what is added before them do not."""
        return int(self.code not in (NONE, RELU, CLIP) or (self.rest is not None and not self.before))

    @property
    def bounds(self) -> tuple[float, float]:
        """What a product keeps its results in, where that is all the activation does."""
        if self.ends or self.code == NONE:
            return -math.inf, math.inf
        return (0.0, math.inf) if self.code == RELU else (self.p, self.q)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots a step must be bound to, bias first."""
        return tuple(s for s in (self.bias, self.rest) if s is not None)

    def addresses(self, arrays: tuple[object, ...]) -> tuple[int, int]:
        """(bias, rest) from the bound arrays of `slots`; 0 where there is none."""
        from exec.lowering.jit.addresses import address

        left = list(arrays)
        bias = address(left.pop(0)) if self.bias is not None else 0
        rest = address(left.pop(0)) if self.rest is not None else 0
        return bias, rest


def tail_of(b: Builder, unit: Unit, bias: Slot | None) -> Tail:
    """The tail of `unit`; `bias` is the op's own."""
    epilogue: Epilogue | None = unit.extra.get("epilogue")
    if epilogue is None:
        return Tail(bias, None, 1, 0, 0.0, 0.0)
    rest = None
    if epilogue.rest >= 0:
        rest = b.copied(b.input(epilogue.rest))
    code = NUMBERS[epilogue.activation] if epilogue.activation else 0
    return Tail(bias, rest, int(epilogue.before), code, epilogue.p, epilogue.q)
