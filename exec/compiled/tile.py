"""The register tile of a matrix product: a few rows of A against a panel of B, summed over k without leaving the registers.

    C[r, :] (+)= Σ_k A[r, k] · B[k, :]      r < rows, B packed as (k, vectors · LANES)

A is read a scalar at a time, from packed weights or straight from a row-major matrix; the sum over k is one block of LLVM code, since
accumulators that live across a loop are what a compiler of Python loops would spill.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from exec.compiled.vectors import (
    F32,
    FLOAT,
    I64,
    INT,
    LANES,
    PANEL,
    VECTOR,
    constant,
    define,
    first_lanes,
    llvm,
    pointer,
    splat,
)

SUFFIX = f"v{LANES}f32"


AHEAD_A = 32
"""Steps of k by which A's line is asked for before it is needed: weights come from beyond the cache, page after page."""

AHEAD_B = 16 * 4 * PANEL
"""Bytes by which B is."""


def _prefetch(builder: Any, address: Any) -> None:
    place = pointer(builder, address, ir.IntType(8))
    read, keep, data = (ir.IntType(32)(n) for n in (0, 3, 1))
    llvm(builder, "llvm.prefetch.p0", ir.VoidType(), place, read, keep, data)


def register_tile(rows: int, vectors: int) -> Any:
    """An intrinsic for a tile of `rows` × `vectors`.

    Its arguments: A, bytes between its rows, bytes between its k; B, bytes between its k; k; C, bytes between its rows;
    how many rows are wanted (the others read the last one again), how many columns; whether C's old values count;
    what will be read soon, and how many bytes of it to ask for per k; then what is done to the sums before they are stored:
    a bias per row, one per column, a block that is added and the bytes between its rows (addresses, 0 is none), and bounds.
    """

    def body(
        builder: Any, a: Any, a_row: Any, a_step: Any, b: Any, b_step: Any, k: Any, c: Any, c_row: Any, wanted: Any,
        columns: Any, accumulate: Any, soon: Any, soon_step: Any,
        row_bias: Any, column_bias: Any, rest: Any, rest_row: Any, low: Any, high: Any,
    ) -> None:  # fmt: skip
        last = builder.sub(wanted, I64(1))
        offsets = []
        for r in range(rows):
            row = builder.select(builder.icmp_signed("<", I64(r), last), I64(r), last) if r else I64(0)
            offsets.append(builder.mul(a_row, row))
        entry = builder.block
        loop, done = builder.append_basic_block("k"), builder.append_basic_block("sums")
        builder.cbranch(builder.icmp_signed(">", k, I64(0)), loop, done)
        builder.position_at_end(loop)
        step = builder.phi(I64)
        at_a, at_b, at_soon = builder.phi(I64), builder.phi(I64), builder.phi(I64)
        sums = [[builder.phi(VECTOR) for _ in range(vectors)] for _ in range(rows)]
        for value, start in ((step, I64(0)), (at_a, a), (at_b, b), (at_soon, soon)):
            value.add_incoming(start, entry)
        for line in sums:
            for value in line:
                value.add_incoming(constant(0.0), entry)
        panel = pointer(builder, at_b)
        b_values = []
        for j in range(vectors):
            value = builder.load(builder.gep(panel, [I64(j)]))
            value.align = 4
            b_values.append(value)
        _prefetch(builder, builder.add(at_a, builder.mul(a_step, I64(AHEAD_A))))
        for j in range(vectors):
            _prefetch(builder, builder.add(at_b, I64(AHEAD_B + 4 * LANES * j)))
        _prefetch(builder, at_soon)
        fresh = []
        for r in range(rows):
            scalar = builder.load(pointer(builder, builder.add(at_a, offsets[r]), F32))
            scalar.align = 4
            a_value = splat(builder, scalar)
            fresh.append(
                [llvm(builder, f"llvm.fma.{SUFFIX}", VECTOR, a_value, b_values[j], sums[r][j]) for j in range(vectors)]
            )
        after = builder.add(step, I64(1))
        moved = ((step, after), (at_a, builder.add(at_a, a_step)), (at_b, builder.add(at_b, b_step)))
        for value, new in (*moved, (at_soon, builder.add(at_soon, soon_step))):
            value.add_incoming(new, loop)
        for line, new_line in zip(sums, fresh, strict=True):
            for value, new in zip(line, new_line, strict=True):
                value.add_incoming(new, loop)
        builder.cbranch(builder.icmp_signed("<", after, k), loop, done)
        builder.position_at_end(done)
        results = []
        for new_line in fresh:
            line = []
            for new in new_line:
                value = builder.phi(VECTOR)
                value.add_incoming(constant(0.0), entry)
                value.add_incoming(new, loop)
                line.append(value)
            results.append(line)
        nothing = I64(0)
        keep, by_row, by_column, added = (
            builder.icmp_signed("!=", value, nothing) for value in (accumulate, row_bias, column_bias, rest)
        )
        more = builder.or_(keep, builder.or_(by_column, added))
        lowest, highest = splat(builder, low), splat(builder, high)
        masks = [first_lanes(builder, builder.sub(columns, I64(LANES * j))) for j in range(vectors)]

        def store_row(r: int, additions: Any) -> None:
            target = builder.add(c, builder.mul(c_row, I64(r)))
            place = builder.select(by_row, builder.add(row_bias, I64(4 * r)), target)
            shift = builder.load(pointer(builder, place, F32))
            shift.align = 4
            shift = splat(builder, builder.select(by_row, shift, ir.Constant(F32, 0.0)))
            for j in range(vectors):
                inside = I64(4 * LANES * j)
                value = builder.fadd(results[r][j], shift)
                for condition, base in additions(r, target):
                    # A masked access to no memory at all is slow, so what is not wanted is "read" where C lies.
                    at = builder.add(builder.select(condition, base, target), inside)
                    chosen = builder.and_(masks[j], splat(builder, condition, masks[j].type))
                    value = builder.fadd(value, _masked(builder, at, chosen))
                value = builder.select(builder.fcmp_ordered("<", value, lowest), lowest, value)
                value = builder.select(builder.fcmp_ordered(">", value, highest), highest, value)
                name = f"llvm.masked.store.{SUFFIX}.p0"
                to = pointer(builder, builder.add(target, inside))
                llvm(builder, name, ir.VoidType(), value, to, ir.IntType(32)(4), masks[j])

        def rest_of(r: int, target: Any) -> Any:
            other = builder.add(rest, builder.mul(rest_row, I64(r)))
            return ((keep, target), (by_column, column_bias), (added, other))

        with builder.if_else(more) as (with_additions, without):
            for block, additions in ((with_additions, rest_of), (without, lambda r, target: ())):
                with block:
                    for r in range(rows):
                        with builder.if_then(builder.icmp_signed("<", I64(r), wanted)):
                            store_row(r, additions)

    return define(types.void, (*(INT,) * 17, FLOAT, FLOAT), body)


def _masked(builder: Any, address: Any, mask: Any) -> Any:
    """What lies at `address` in the lanes of `mask`, zeros in the others."""
    name = f"llvm.masked.load.{SUFFIX}.p0"
    return llvm(builder, name, VECTOR, pointer(builder, address), ir.IntType(32)(4), mask, constant(0.0))
