"""float16 and bfloat16 carried in float32: computed wide, rounded where the specification rounds.

numpy computes in float16 250 times slower than in float32, and BLAS not at all. So in a plan such a value lives in float32 memory and
always holds a number its type can represent: after each operation that makes others, it is rounded. Weights are widened once.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from exec.arrays import Array
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.ufuncs import clip_ufunc
from exec.lowering.units import Unit, Units
from exec.trace import Spec

CARRIED = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
"""Types that are carried in float32."""

EXACT = frozenset(
    (
        "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout", "Transpose", "Expand", "Slice", "Split",
        "Concat", "Gather", "GatherElements", "GatherND", "Pad", "Tile", "DepthToSpace", "SpaceToDepth", "Where", "Relu",
        "Max", "Min", "Neg", "Abs", "Sign", "Floor", "Ceil", "Round", "MaxPool", "GlobalMaxPool", "ReduceMax", "ReduceMin",
        "Trilu", "TopK", "ScatterND", "ScatterElements",
    )
)  # fmt: skip
"""Ops whose results are among their inputs, or need no rounding."""


def carry_wide(units: Units) -> None:
    """Let every narrow value of the plan live in float32; `units.narrow` keeps what it is."""
    for number, spec in list(units.specs.items()):
        if spec.dtype in CARRIED:
            units.narrow[number] = spec.dtype
            units.specs[number] = Spec(spec.shape, np.dtype(np.float32))


def round_outputs(b: Builder, unit: Unit) -> None:
    """Emit the rounding of what `unit` has made, where it may hold more digits than its type."""
    ops = {source.op for source in unit.sources}
    if ops <= EXACT:
        return
    for number in unit.outputs:
        narrow = b.units.narrow.get(number)
        if narrow is not None and number in b.slots:
            round_slot(b, b.slots[number], narrow)


def round_slot(b: Builder, slot: Slot, narrow: np.dtype[Any]) -> None:
    """Emit a rounding in place."""
    if slot.buffer is None:
        return
    if b.jit and slot.contiguous:
        from exec.lowering.jit.narrow import round_slot as compiled

        compiled(b, slot, narrow)
        return
    if slot.contiguous and narrow == np.float16:
        b.emit(_by_arithmetic, slot, b.scratch((2, min(slot.size, BLOCK)), np.float32))
    else:
        b.emit(_through, slot, b.scratch(slot.shape, narrow))


def _through(x: Array, narrow: Array) -> list[Step]:
    return [partial(np.copyto, narrow, x, casting="unsafe"), partial(np.copyto, x, narrow)]


BLOCK = 1 << 15

EXPONENT = np.uint32(0x7F800000)
LEAST, MOST = np.float32(2.0**-14), np.float32(2.0**15)
"""The powers of two between which float16 has eleven digits; below, its steps stay as wide."""

SHIFT = np.float32(1.5 * 2.0**13)
"""Added to a number with 24 digits and taken away again, this times the number's power of two leaves eleven of them."""

UP, DOWN = np.float32(2.0**112), np.float32(2.0**-112)
"""Multiplying by the first overflows from 2¹⁶ on, where float16 ends."""


SIGN = np.uint32(0x80000000)


def _by_arithmetic(x: Array, spare: Array) -> Step:
    flat = x.reshape(-1)
    parts = [flat[start : start + BLOCK] for start in range(0, flat.size, BLOCK)]
    return partial(_round_half, [(part, part.view(np.uint32), *spare[:, : part.size]) for part in parts])


def _round_half(parts: list[tuple[Array, Array, Array, Array]]) -> None:
    """Round to what float16 can represent, half to even; numpy's casts there and back take three times as long."""
    for x, bits, power, sign in parts:
        np.bitwise_and(bits, SIGN, sign.view(np.uint32))  # a negative number that vanishes leaves −0
        np.bitwise_and(bits, EXPONENT, power.view(np.uint32))
        clip_ufunc(power, LEAST, MOST, power)
        np.multiply(power, SHIFT, power)
        np.add(x, power, x)
        np.subtract(x, power, x)
        np.multiply(x, UP, x)
        np.multiply(x, DOWN, x)
        np.bitwise_or(bits, sign.view(np.uint32), bits)
