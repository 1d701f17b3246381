"""The register tile for bytes: four products per lane and step, summed in int32 (AVX-512 VNNI).

    C[r, :] (+)= Σ_k A[r, k] · B[k, :]      one operand unsigned, the other signed

Four neighbouring k lie together in a 32-bit word, in A as in B.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba.core import types

from exec.compiled.vectors import I32, I64, INT, INTEGERS, LANES, define, first_lanes, llvm, pointer, splat


def supported() -> bool:
    """Whether this CPU has the instruction."""
    return LANES == 16 and bool(binding.get_host_cpu_features().get("avx512vnni"))


ZERO = ir.Constant(INTEGERS, [0] * LANES)


def _dot(builder: Any, sums: Any, unsigned: Any, signed: Any) -> Any:
    return llvm(builder, "llvm.x86.avx512.vpdpbusd.512", INTEGERS, sums, unsigned, signed)


def integer_tile(rows: int, vectors: int, *, signed_panel: bool) -> Any:
    """An intrinsic: A, bytes between its rows and its steps; B, bytes between its steps; steps; C, bytes between its rows;
    rows and columns wanted. `signed_panel`: B holds the signed bytes, else A does.
    """

    def body(
        builder: Any, a: Any, a_row: Any, a_step: Any, b: Any, b_step: Any, k: Any, c: Any, c_row: Any, wanted: Any,
        columns: Any,
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
        step, at_a, at_b = builder.phi(I64), builder.phi(I64), builder.phi(I64)
        sums = [[builder.phi(INTEGERS) for _ in range(vectors)] for _ in range(rows)]
        for value, start in ((step, I64(0)), (at_a, a), (at_b, b)):
            value.add_incoming(start, entry)
        for line in sums:
            for value in line:
                value.add_incoming(ZERO, entry)
        panel = pointer(builder, at_b, INTEGERS)
        b_values = []
        for j in range(vectors):
            value = builder.load(builder.gep(panel, [I64(j)]))
            value.align = 4
            b_values.append(value)
        fresh = []
        for r in range(rows):
            word = builder.load(pointer(builder, builder.add(at_a, offsets[r]), I32))
            word.align = 1
            a_value = splat(builder, word, INTEGERS)
            pairs = [(a_value, b) if signed_panel else (b, a_value) for b in b_values]
            fresh.append([_dot(builder, sums[r][j], *pairs[j]) for j in range(vectors)])
        after = builder.add(step, I64(1))
        for value, new in ((step, after), (at_a, builder.add(at_a, a_step)), (at_b, builder.add(at_b, b_step))):
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
                value = builder.phi(INTEGERS)
                value.add_incoming(ZERO, entry)
                value.add_incoming(new, loop)
                line.append(value)
            results.append(line)
        masks = [first_lanes(builder, builder.sub(columns, I64(LANES * j))) for j in range(vectors)]
        for r in range(rows):
            with builder.if_then(builder.icmp_signed("<", I64(r), wanted)):
                target = builder.add(c, builder.mul(c_row, I64(r)))
                for j in range(vectors):
                    place = pointer(builder, builder.add(target, I64(4 * LANES * j)), INTEGERS)
                    name = f"llvm.masked.store.v{LANES}i32.p0"
                    llvm(builder, name, ir.VoidType(), results[r][j], place, I32(4), masks[j])

    return define(types.void, (INT,) * 10, body)
