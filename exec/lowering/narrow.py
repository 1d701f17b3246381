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


SUMS = frozenset(("Add", "Sub"))
"""Ops that give multiples of their type's least number, of two numbers of the type: only where they are large is there a digit to drop."""

MOVES = frozenset(
    ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Transpose", "Slice", "Relu", "Neg", "MaxPool")
)
"""Ops of one input whose results are among its elements, their negatives, or 0."""


def round_outputs(b: Builder, unit: Unit) -> None:
    """Emit the rounding of what `unit` has made, where it may hold more digits than its type."""
    ops = {source.op for source in unit.sources}
    if ops <= EXACT:
        return
    for number in unit.outputs:
        narrow = b.units.narrow.get(number)
        if narrow is None or number not in b.slots or (unit.op == "Cast" and _was(b.units, unit.inputs[0], narrow)):
            continue
        of_two = len(unit.sources) == 1 and all(_narrow(b.units, n) == narrow for n in unit.inputs)
        signed = number not in b.unsigned_zeros
        round_slot(b, b.slots[number], narrow, is_sum=of_two and ops <= SUMS, signed=signed)


def _narrow(units: Units, number: int) -> np.dtype[Any] | None:
    """The narrow type of a value, a constant's too."""
    value = units.known.get(number)
    return value.dtype if isinstance(value, np.ndarray) else units.narrow.get(number)


def _was(units: Units, number: int, narrow: np.dtype[Any]) -> bool:
    """Whether a float32 value is one of type `narrow` that was cast and moved."""
    while number not in units.narrow:
        maker = units.maker.get(number)
        if maker is None or maker.domain or len(maker.sources) != 1 or number != maker.outputs[0]:
            return False
        nearest = maker.op == "Resize" and maker.attributes.get("mode", "nearest") == "nearest"
        cropped = maker.attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize"
        to_float = maker.op == "Cast" and units.specs[number].dtype == np.float32
        if not (maker.op in MOVES or to_float or (nearest and not cropped)):
            return False
        number = maker.inputs[0]
        if units.known.get(number) is not None:
            return False
    return units.narrow[number] == narrow


def round_slot(b: Builder, slot: Slot, narrow: np.dtype[Any], *, is_sum: bool = False, signed: bool = True) -> None:
    """Emit a rounding in place."""
    if slot.buffer is None:
        return
    if b.jit and slot.contiguous:
        from exec.lowering.jit.narrow import round_slot as compiled

        compiled(b, slot, narrow)
        return
    if slot.contiguous and narrow == np.float16:
        b.emit(partial(_by_arithmetic, is_sum, signed), slot, b.scratch((2, min(slot.size, BLOCK)), np.float32))
    else:
        b.emit(_through, slot, b.scratch(slot.shape, narrow))


def _through(x: Array, narrow: Array) -> list[Step]:
    return [partial(np.copyto, narrow, x, casting="unsafe"), partial(np.copyto, x, narrow)]


BLOCK = 1 << 15

SIGN, EXPONENT = np.uint32(0x80000000), np.uint32(0x7F800000)
LEAST, MOST = np.float32(2.0**-14), np.float32(2.0**15)
"""The powers of two between which float16 has eleven digits; below, its steps stay as wide."""

SHIFT = np.float32(1.5 * 2.0**13)
"""Added to a number with 24 digits and taken away again, this times the number's power of two leaves eleven of them."""

SPLIT = np.float32(2.0**13 + 1)
"""Veltkamp's factor: s·x − (s·x − x) has eleven digits, half to even because 13 of 24 are dropped; −0 stays."""

UP, DOWN = np.float32(2.0**112), np.float32(2.0**-112)
"""Multiplying by the first overflows from 2¹⁶ on, where float16 ends."""

TAME = 2.0**31
"""A sum of squares up to which no element is beyond float16 or NaN."""


def _by_arithmetic(is_sum: bool, signed: bool, x: Array, spare: Array) -> Step:
    flat = x.reshape(-1)
    parts = [flat[start : start + BLOCK] for start in range(0, flat.size, BLOCK)]
    run = _round_sums if is_sum else _round_half if signed else _round_unsigned
    return partial(run, [(part, *spare[:, : part.size]) for part in parts])


def _round_sums(parts: list[tuple[Array, Array, Array]]) -> None:
    """Round sums of two float16 numbers: those too small for eleven digits are exact, so digits alone count."""
    for x, split, spare in parts:
        if not np.dot(x, x) <= TAME:
            _round_any(x, split, spare)
            continue
        np.multiply(x, SPLIT, split)
        np.subtract(split, x, x)
        np.subtract(split, x, x)


def _round_unsigned(parts: list[tuple[Array, Array, Array]]) -> None:
    """Round where −0 may become 0."""
    for x, power, spare in parts:
        if np.dot(x, x) <= TAME:
            _drop_digits(x, power)
        else:
            _round_any(x, power, spare)


def _round_half(parts: list[tuple[Array, Array, Array]]) -> None:
    """Round to what float16 can represent, half to even; numpy's casts there and back take three times as long."""
    for x, power, sign in parts:
        _round_any(x, power, sign)


def _round_any(x: Array, power: Array, sign: Array) -> None:
    """Round whatever there may be: infinities, NaN, what overflows, and negative numbers that vanish and leave −0."""
    bits = x.view(np.uint32)
    np.bitwise_and(bits, SIGN, sign.view(np.uint32))
    _drop_digits(x, power)
    np.multiply(x, UP, x)
    np.multiply(x, DOWN, x)
    np.bitwise_or(bits, sign.view(np.uint32), bits)


def _drop_digits(x: Array, power: Array) -> None:
    np.bitwise_and(x.view(np.uint32), EXPONENT, power.view(np.uint32))
    clip_ufunc(power, LEAST, MOST, power)
    np.multiply(power, SHIFT, power)
    np.add(x, power, x)
    np.subtract(x, power, x)
