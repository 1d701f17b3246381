"""Rounding float32 to what a narrower type can hold, in place."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from exec.compiled.toolchain import kernel
from exec.compiled.vectors import INTEGERS, LANES, VEC, VECTOR, define, load_first, store_first

HALVES = ir.VectorType(ir.HalfType(), LANES)


def _by_half(builder: Any, x: Any) -> Any:
    return builder.fpext(builder.fptrunc(x, HALVES), VECTOR)


def _by_bfloat(builder: Any, x: Any) -> Any:
    """The upper half of the bits, rounded to nearest, ties to even; NaN stays NaN."""
    bits = builder.bitcast(x, INTEGERS)

    def every(value: int) -> Any:
        return ir.Constant(INTEGERS, [value] * LANES)

    odd = builder.and_(builder.lshr(bits, every(16)), every(1))
    rounded = builder.and_(builder.add(bits, builder.add(odd, every(0x7FFF))), every(-0x10000))
    return builder.select(builder.fcmp_unordered("uno", x, x), x, builder.bitcast(rounded, VECTOR))


by_half, by_bfloat = define(VEC, (VEC,), _by_half), define(VEC, (VEC,), _by_bfloat)


@kernel("i i i")
def round_all(x: Any, count: Any, bfloat: Any) -> Any:
    """Round `count` float32 to float16, or to bfloat16."""
    for j in range(0, count, LANES):
        left = min(LANES, count - j)
        v = load_first(x + 4 * j, left)
        if bfloat != 0:
            store_first(x + 4 * j, by_bfloat(v), left)
        else:
            store_first(x + 4 * j, by_half(v), left)
