"""Bytes in and out of vectors of float32, and gathered four channels at a time for integer products."""

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
    VEC,
    VECTOR,
    define,
    first_lanes,
    llvm,
    pointer,
    splat,
)

I8 = ir.IntType(8)
BYTES = ir.VectorType(I8, LANES)
FLAG = ir.IntType(1)


def _load_bytes(builder: Any, address: Any, mask: Any, otherwise: Any) -> Any:
    kind = ir.VectorType(I8, mask.type.count)
    name = f"llvm.masked.load.v{mask.type.count}i8.p0"
    return llvm(builder, name, kind, pointer(builder, address, kind), I32(1), mask, otherwise)


def _as_floats(signed: bool) -> Any:
    def body(builder: Any, address: Any, count: Any) -> Any:
        mask = first_lanes(builder, count)
        loaded = _load_bytes(builder, address, mask, ir.Constant(BYTES, [0] * LANES))
        wide = builder.sext(loaded, INTEGERS) if signed else builder.zext(loaded, INTEGERS)
        return builder.sitofp(wide, VECTOR)

    return define(VEC, (INT, INT), body)


load_unsigned, load_signed = _as_floats(False), _as_floats(True)
"""The first lanes of bytes from an address as float32; the others are 0."""


def _store_bytes(builder: Any, address: Any, value: Any, count: Any) -> None:
    """Whole numbers that fit a byte, signed or not."""
    words = builder.trunc(builder.fptosi(value, INTEGERS), BYTES)
    name = f"llvm.masked.store.v{LANES}i8.p0"
    mask = first_lanes(builder, count)
    llvm(builder, name, ir.VoidType(), words, pointer(builder, address, BYTES), I32(1), mask)


store_bytes = define(types.void, (INT, VEC, INT), _store_bytes)


def _load_words(builder: Any, address: Any, count: Any) -> Any:
    """int32 as float32: exact below 2^24."""
    name = f"llvm.masked.load.v{LANES}i32.p0"
    place = pointer(builder, address, INTEGERS)
    loaded = llvm(
        builder, name, INTEGERS, place, I32(4), first_lanes(builder, count), ir.Constant(INTEGERS, [0] * LANES)
    )
    return builder.sitofp(loaded, VECTOR)


load_words = define(VEC, (INT, INT), _load_words)


def _adjust(
    builder: Any, source: Any, target: Any, count: Any, constant: Any, first: Any, first_factor: Any, second: Any,
    second_factor: Any,
) -> None:  # fmt: skip
    """target = source + constant + first·first_factor + second·second_factor on `count` ≤ LANES int32; wraps."""
    mask = first_lanes(builder, count)
    zeros = ir.Constant(INTEGERS, [0] * LANES)

    def read(address: Any) -> Any:
        name = f"llvm.masked.load.v{LANES}i32.p0"
        return llvm(builder, name, INTEGERS, pointer(builder, address, INTEGERS), I32(4), mask, zeros)

    total = builder.add(read(source), splat(builder, builder.trunc(constant, I32), INTEGERS))
    for address, factor in ((first, first_factor), (second, second_factor)):
        total = builder.add(total, builder.mul(read(address), splat(builder, builder.trunc(factor, I32), INTEGERS)))
    place = pointer(builder, target, INTEGERS)
    llvm(builder, f"llvm.masked.store.v{LANES}i32.p0", ir.VoidType(), total, place, I32(4), mask)


adjust_words = define(types.void, (INT,) * 8, _adjust)


def _mask_between(builder: Any, low: Any, high: Any, first: int, stride: int) -> Any:
    """Bytes first·stride … of which those that are element k·stride with low ≤ k < high are wanted."""
    lanes = LANES * stride
    index = ir.Constant(ir.VectorType(I32, lanes), [first + k // stride for k in range(lanes)])
    kind = ir.VectorType(I32, lanes)

    def every(value: Any) -> Any:
        undefined = ir.Constant(kind, ir.Undefined)
        one = builder.insert_element(undefined, builder.trunc(value, I32), I32(0))
        return builder.shuffle_vector(one, undefined, ir.Constant(kind, [0] * lanes))

    inside = builder.and_(builder.icmp_signed(">=", index, every(low)), builder.icmp_signed("<", index, every(high)))
    exact = ir.Constant(ir.VectorType(FLAG, lanes), [k % stride == 0 for k in range(lanes)])
    return builder.and_(inside, exact)


def _quad_mover(stride: int) -> Any:
    """Rows of four channels' bytes, element by element beside each other: (columns, 4)."""

    def body(
        builder: Any, source: Any, plane: Any, channels: Any, target: Any, target_step: Any, low: Any, high: Any, count: Any,
        fill: Any, flip: Any,
    ) -> None:  # fmt: skip
        reads = [_mask_between(builder, low, high, LANES * j, stride) for j in range(COLUMNS)]
        writes = [first_lanes(builder, builder.sub(count, I64(LANES * j))) for j in range(COLUMNS)]
        lanes = LANES * stride
        kind = ir.VectorType(I8, lanes)

        def every(value: Any) -> Any:
            undefined = ir.Constant(kind, ir.Undefined)
            one = builder.insert_element(undefined, builder.trunc(value, I8), I32(0))
            return builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(I32, lanes), [0] * lanes))

        filled, flipped = every(fill), every(flip)
        last = builder.sub(channels, I64(1))
        entry = builder.block
        loop, done = builder.append_basic_block("quad"), builder.append_basic_block("moved")
        builder.cbranch(builder.icmp_signed(">", channels, I64(0)), loop, done)
        builder.position_at_end(loop)
        channel, to = builder.phi(I64), builder.phi(I64)
        channel.add_incoming(I64(0), entry)
        to.add_incoming(target, entry)
        lines = []
        for i in range(4):
            number = builder.add(channel, I64(i))
            kept = builder.select(builder.icmp_signed("<", number, last), number, last)
            lines.append(builder.add(source, builder.mul(plane, kept)))
        for j in range(COLUMNS):
            parts = []
            for line in lines:
                loaded = _load_bytes(builder, builder.add(line, I64(LANES * j * stride)), reads[j], filled)
                loaded = builder.xor(loaded, flipped)
                if stride == 2:
                    evens = ir.Constant(INTEGERS, [2 * k for k in range(LANES)])
                    loaded = builder.shuffle_vector(loaded, ir.Constant(kind, ir.Undefined), evens)
                parts.append(loaded)
            both = ir.Constant(ir.VectorType(I32, 2 * LANES), list(range(2 * LANES)))
            near, far = (builder.shuffle_vector(parts[k], parts[k + 1], both) for k in (0, 2))
            order = [(i % 2) * LANES + c + (2 * LANES if i > 1 else 0) for c in range(LANES) for i in range(4)]
            mixed = builder.shuffle_vector(near, far, ir.Constant(ir.VectorType(I32, 4 * LANES), order))
            place = pointer(builder, builder.add(to, I64(4 * LANES * j)), INTEGERS)
            name = f"llvm.masked.store.v{LANES}i32.p0"
            llvm(builder, name, ir.VoidType(), builder.bitcast(mixed, INTEGERS), place, I32(4), writes[j])
        after = builder.add(channel, I64(4))
        channel.add_incoming(after, loop)
        to.add_incoming(builder.add(to, target_step), loop)
        builder.cbranch(builder.icmp_signed("<", after, channels), loop, done)
        builder.position_at_end(done)

    return define(types.void, (INT,) * 10, body)


move_quads, move_even_quads = _quad_mover(1), _quad_mover(2)
"""(source, bytes between channels, channels, target, bytes between quads, low, high, count, fill, flip).

Element k of a channel is its source for low ≤ k < high, `fill` for the others of the `count` ≤ PANEL; all bits of `flip` are turned.
Channels beyond the last repeat it: their weights are zero.
"""
