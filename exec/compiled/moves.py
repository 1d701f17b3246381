"""Rows of up to a panel's width moved, with zeros where there is nothing to read: what gathers a convolution's panels.

Written in LLVM, since the masks of a row are the same for every channel and must not be made anew for each.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from exec.compiled.vectors import (
    COLUMNS,
    I32,
    I64,
    INT,
    INTEGERS,
    LANES,
    MASK,
    SUFFIX,
    VECTOR,
    constant,
    define,
    llvm,
    pointer,
    splat,
)

WIDE = ir.VectorType(I64, LANES)


def _between(builder: Any, low: Any, high: Any, first: int) -> Any:
    """A mask of the lanes whose number + first lies in [low, high)."""
    index = ir.Constant(INTEGERS, [first + k for k in range(LANES)])
    above = builder.icmp_signed(">=", index, splat(builder, builder.trunc(low, I32), INTEGERS))
    below = builder.icmp_signed("<", index, splat(builder, builder.trunc(high, I32), INTEGERS))
    return builder.and_(above, below)


def _mover(stride: int) -> Any:
    """An intrinsic that moves rows whose elements lie `stride` apart; 0 means the stride is an argument."""

    def body(
        builder: Any, source: Any, source_step: Any, target: Any, target_step: Any, rows: Any, low: Any, high: Any,
        count: Any, apart: Any,
    ) -> None:  # fmt: skip
        reads = [_between(builder, low, high, LANES * j) for j in range(COLUMNS)]
        writes = [_between(builder, I64(0), count, LANES * j) for j in range(COLUMNS)]
        if stride == 2:  # lane k of a vector is element 2k of two: masks for both, one after the other
            double = ir.Constant(ir.VectorType(I32, 2 * LANES), [k // 2 for k in range(2 * LANES)])
            halves = []
            for mask in reads:
                both = builder.shuffle_vector(mask, ir.Constant(MASK, ir.Undefined), double)
                even = ir.Constant(ir.VectorType(ir.IntType(1), 2 * LANES), [k % 2 == 0 for k in range(2 * LANES)])
                both = builder.and_(both, even)
                lanes = [list(range(LANES)), list(range(LANES, 2 * LANES))]
                undefined = ir.Constant(both.type, ir.Undefined)
                halves.append([builder.shuffle_vector(both, undefined, ir.Constant(INTEGERS, part)) for part in lanes])
        entry = builder.block
        loop, done = builder.append_basic_block("row"), builder.append_basic_block("moved")
        builder.cbranch(builder.icmp_signed(">", rows, I64(0)), loop, done)
        builder.position_at_end(loop)
        row, at, to = builder.phi(I64), builder.phi(I64), builder.phi(I64)
        for value, start in ((row, I64(0)), (at, source), (to, target)):
            value.add_incoming(start, entry)
        zero = constant(0.0)
        values = []
        for j in range(COLUMNS):
            if stride == 1:
                place = builder.add(at, I64(4 * LANES * j))
                values.append(_masked_load(builder, place, reads[j], zero))
            elif stride == 2:
                parts = []
                for h in range(2):
                    place = builder.add(at, I64(4 * LANES * (2 * j + h)))
                    parts.append(_masked_load(builder, place, halves[j][h], zero))
                evens = ir.Constant(INTEGERS, [2 * k for k in range(LANES)])
                values.append(builder.shuffle_vector(parts[0], parts[1], evens))
            else:
                values.append(_gathered(builder, at, apart, LANES * j, reads[j], zero))
        for j in range(COLUMNS):
            place = pointer(builder, builder.add(to, I64(4 * LANES * j)))
            llvm(builder, f"llvm.masked.store.{SUFFIX}.p0", ir.VoidType(), values[j], place, I32(4), writes[j])
        after = builder.add(row, I64(1))
        for value, new in ((row, after), (at, builder.add(at, source_step)), (to, builder.add(to, target_step))):
            value.add_incoming(new, loop)
        builder.cbranch(builder.icmp_signed("<", after, rows), loop, done)
        builder.position_at_end(done)

    return define(types.void, (INT,) * 9, body)


def _masked_load(builder: Any, address: Any, mask: Any, zero: Any) -> Any:
    name = f"llvm.masked.load.{SUFFIX}.p0"
    return llvm(builder, name, VECTOR, pointer(builder, address), I32(4), mask, zero)


def _gathered(builder: Any, address: Any, apart: Any, first: int, mask: Any, zero: Any) -> Any:
    undefined, zeros = ir.Constant(WIDE, ir.Undefined), ir.Constant(INTEGERS, [0] * LANES)

    def spread(scalar: Any) -> Any:
        return builder.shuffle_vector(builder.insert_element(undefined, scalar, I32(0)), undefined, zeros)

    index = ir.Constant(WIDE, [first + k for k in range(LANES)])
    places = builder.add(spread(address), builder.mul(index, spread(builder.mul(apart, I64(4)))))
    pointers = builder.inttoptr(places, ir.VectorType(ir.FloatType().as_pointer(), LANES))
    return llvm(builder, f"llvm.masked.gather.{SUFFIX}.v{LANES}p0", VECTOR, pointers, I32(4), mask, zero)


move_dense, move_even, move_apart = _mover(1), _mover(2), _mover(0)
"""(source, bytes between rows, target, bytes between rows, rows, low, high, count, elements apart).

Element k of a row is element k·apart of its source for low ≤ k < high, and 0 for the others of the `count` ≤ PANEL.
"""
