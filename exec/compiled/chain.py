"""Elementwise operations in a row, tile by tile: every intermediate value stays in the first-level cache.

A chain is a little program: each instruction has an operation, two operands and a destination. It is run on tiles of TILE elements
by this interpreter, which is compiled once, so that a new model needs no compiler.
"""

from __future__ import annotations

from typing import Any

from exec.compiled.activation import FINISH_KINDS
from exec.compiled.toolchain import kernel, part
from exec.compiled.vectors import (
    LANES,
    add,
    broadcast,
    caller,
    choose_less,
    divide,
    fill,
    get,
    get_int,
    helper,
    larger,
    load,
    load_first,
    multiply,
    smaller,
    store,
    store_first,
    subtract,
)

TILE = 512
"""Elements per tile: some of them fit the first-level cache together."""

UNARY, ADD, SUB, MUL, DIV, MAX, MIN, PRELU = range(8)
"""What an instruction does; UNARY is an activation number in its second operand's place."""

WORDS = 4
"""int64 words of an instruction: operation, first operand, second operand (or activation number), destination."""

OPERAND = 40
"""Bytes of an operand: address, bytes along each of three outer axes, bytes along the inner one (4, or 0 for one element)."""

COMBINE_KINDS = "i i i i i i i"
call_combine, call_apply = caller(COMBINE_KINDS), caller(FINISH_KINDS)


@helper
def combined(operation: Any, x: Any, y: Any) -> Any:
    """x ∘ y"""
    if operation == ADD:
        return add(x, y)
    if operation == SUB:
        return subtract(x, y)
    if operation == MUL:
        return multiply(x, y)
    if operation == DIV:
        return divide(x, y)
    if operation == MAX:
        return larger(x, y)
    if operation == MIN:
        return smaller(x, y)
    return choose_less(x, fill(0.0), multiply(x, y), x)


@part(COMBINE_KINDS)
def combine(operation: Any, a: Any, a_step: Any, b: Any, b_step: Any, out: Any, count: Any) -> Any:
    """out = a ∘ b over `count` elements; a step of 0 is one element for all."""
    whole = count - count % LANES
    x, y = broadcast(a), broadcast(b)
    for j in range(0, whole, LANES):
        if a_step != 0:
            x = load(a + 4 * j)
        if b_step != 0:
            y = load(b + 4 * j)
        store(out + 4 * j, combined(operation, x, y))
    if whole < count:
        left = count - whole
        if a_step != 0:
            x = load_first(a + 4 * whole, left)
        if b_step != 0:
            y = load_first(b + 4 * whole, left)
        store_first(out + 4 * whole, combined(operation, x, y), left)


@helper
def place(operands: Any, inputs: Any, tiles: Any, number: Any, i: Any, j: Any, k: Any, start: Any) -> Any:
    """Where an operand lies at this point of the iteration."""
    if number >= inputs:
        return tiles + 4 * TILE * (number - inputs)
    at = operands + OPERAND * number
    outer = i * get_int(at + 8) + j * get_int(at + 16) + k * get_int(at + 24)
    return get_int(at) + outer + start * get_int(at + 32)


@helper
def step_of(operands: Any, inputs: Any, number: Any) -> Any:
    """Bytes between neighbours of an operand."""
    return 4 if number >= inputs else get_int(operands + OPERAND * number + 32)


@kernel("i i i i i i i i i i")
def run_chain(
    combine: Any, apply: Any, program: Any, parameters: Any, instructions: Any, operands: Any, inputs: Any, shape: Any,
    inner: Any, tiles: Any,
) -> Any:  # fmt: skip
    """Run a program over three outer axes (lengths at `shape`) and `inner` elements.

    program     WORDS int64 per instruction; parameters, two float32 each
    operands    what lies in memory; numbers from `inputs` on are tiles
    """
    for i in range(get_int(shape)):
        for j in range(get_int(shape + 8)):
            for k in range(get_int(shape + 16)):
                for start in range(0, inner, TILE):
                    count = min(TILE, inner - start)
                    for n in range(instructions):
                        at = program + 8 * WORDS * n
                        operation, first, second = get_int(at), get_int(at + 8), get_int(at + 16)
                        a = place(operands, inputs, tiles, first, i, j, k, start)
                        out = place(operands, inputs, tiles, get_int(at + 24), i, j, k, start)
                        if operation == UNARY:
                            p, q = get(parameters + 8 * n), get(parameters + 8 * n + 4)
                            call_apply(apply, a, 0, out, 0, 1, count, 0, 0, 0, 0, 0, 0, second, p, q)
                        else:
                            b = place(operands, inputs, tiles, second, i, j, k, start)
                            a_step, b_step = step_of(operands, inputs, first), step_of(operands, inputs, second)
                            call_combine(combine, operation, a, a_step, b, b_step, out, count)
