"""Vectors taken apart into every fourth element, and put together again."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from exec.compiled.vectors import (
    I32,
    I64,
    INT,
    LANES,
    ROWS,
    SUFFIX,
    VEC,
    VECTOR,
    constant,
    define,
    first_lanes,
    llvm,
    pointer,
)


def _indices(values: list[int]) -> Any:
    return ir.Constant(ir.VectorType(I32, len(values)), values)


def _every_fourth(phase: int) -> Any:
    """An intrinsic: lane k is element 4k + phase from the address on."""

    def body(builder: Any, address: Any) -> Any:
        parts = []
        for k in range(4):
            value = builder.load(pointer(builder, builder.add(address, I64(4 * LANES * k))))
            value.align = 4
            parts.append(value)
        pairs = []
        for low, high in ((parts[0], parts[1]), (parts[2], parts[3])):
            picked = [4 * k + phase for k in range(LANES // 2)] + [0] * (LANES // 2)
            pairs.append(builder.shuffle_vector(low, high, _indices(picked)))
        halves = [*range(LANES // 2), *range(LANES, LANES + LANES // 2)]
        return builder.shuffle_vector(pairs[0], pairs[1], _indices(halves))

    return define(VEC, (INT,), body)


fourth_0, fourth_1, fourth_2, fourth_3 = (_every_fourth(phase) for phase in range(4))


def _put_fourths(builder: Any, address: Any, *vectors: Any) -> None:
    """The inverse: element 4k + phase is lane k of vector `phase`."""
    both = list(range(2 * LANES))
    low = builder.shuffle_vector(vectors[0], vectors[1], _indices(both))
    high = builder.shuffle_vector(vectors[2], vectors[3], _indices(both))
    for k in range(4):
        picked = []
        for place in range(LANES * k, LANES * (k + 1)):
            lane, phase = divmod(place, 4)
            picked.append((2 * LANES if phase > 1 else 0) + (phase % 2) * LANES + lane)
        value = builder.shuffle_vector(low, high, _indices(picked))
        builder.store(value, pointer(builder, builder.add(address, I64(4 * LANES * k)), VECTOR)).align = 4


put_fourths = define(types.void, (INT, VEC, VEC, VEC, VEC), _put_fourths)


def _zip(builder: Any, a: Any, b: Any, half: int) -> Any:
    """The lower (0) or upper (1) half of a[0] b[0] a[1] b[1] …"""
    first = half * LANES // 2
    picked = [first + k // 2 + (LANES if k % 2 else 0) for k in range(LANES)]
    return builder.shuffle_vector(a, b, _indices(picked))


def _turn(builder: Any, source: Any, row: Any, rows: Any, count: Any, target: Any) -> None:
    """ROWS rows of up to LANES elements, written column by column: (count, ROWS) floats.

    Only `rows` of the rows exist; the others repeat the last one.
    """
    mask = first_lanes(builder, count)
    last = builder.sub(rows, I64(1))
    lines = []
    for r in range(ROWS):
        index = builder.select(builder.icmp_signed("<", I64(r), last), I64(r), last) if r else I64(0)
        place = pointer(builder, builder.add(source, builder.mul(row, index)))
        name = f"llvm.masked.load.{SUFFIX}.p0"
        lines.append(llvm(builder, name, VECTOR, place, I32(4), mask, constant(0.0)))
    groups = [lines]  # perfect shuffles: row i meets row i + half, until a vector holds whole columns
    while len(groups[0]) > 1:
        half = len(groups[0]) // 2
        groups = [
            [_zip(builder, group[k], group[k + half], upper) for k in range(half)]
            for group in groups
            for upper in (0, 1)
        ]
    floats = builder.mul(count, I64(ROWS))
    for k, (line,) in enumerate(groups):
        place = pointer(builder, builder.add(target, I64(4 * LANES * k)))
        kept = first_lanes(builder, builder.sub(floats, I64(LANES * k)))
        llvm(builder, f"llvm.masked.store.{SUFFIX}.p0", ir.VoidType(), line, place, I32(4), kept)


turn = define(types.void, (INT,) * 5, _turn)
"""(source, bytes between rows, rows, count, target): a block of A turned into what a register tile reads."""
