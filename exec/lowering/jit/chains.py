"""A chain as a call of the compiled interpreter: iteration space, operand table, tile slots."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from exec.arrays import Array
from exec.compiled import activation, chain
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.fusion.chains import Chain
from exec.lowering.jit.addresses import address
from exec.lowering.registry import lowering
from exec.lowering.units import Unit

COMBINE = {
    "Add": chain.ADD, "Sub": chain.SUB, "Mul": chain.MUL, "Div": chain.DIV, "Max": chain.MAX, "Min": chain.MIN,
    "PRelu": chain.PRELU,
}  # fmt: skip

OUTER = 3


@lowering("Chain", domain="owb")
def lower_chain(b: Builder, unit: Unit) -> bool:
    """Emit one call; False where the operands' layout needs more outer axes than the interpreter has."""
    program: Chain = unit.extra["chain"]
    inputs = [_readable(b, b.input(n)) for n in unit.inputs]
    spec = b.units.specs[unit.outputs[0]]
    full = [slot for slot in inputs if slot.shape == spec.shape]
    space = iteration(spec.shape, [slot.array for slot in inputs])
    if space is None:
        return False
    out = b.new_or_reused(unit.outputs[0], *full)
    if not out.contiguous:
        return False
    shape, strides = space
    code, parameters, tiles = encode(program, unit.inputs)
    room = b.scratch((max(1, tiles) * chain.TILE,))
    b.emit(partial(_bind, code, parameters, shape, strides), out, room, *inputs, variant="compiled")
    return True


def _readable(b: Builder, slot: Slot) -> Slot:
    """A slot whose last axis of more than one element is contiguous or repeats one."""
    steps = [step for length, step in zip(slot.shape, slot.array.strides, strict=True) if length > 1]
    return b.copied(slot) if steps and steps[-1] not in (0, slot.dtype.itemsize) else slot


def iteration(shape: tuple[int, ...], arrays: Sequence[Array]) -> tuple[tuple[int, ...], list[tuple[int, ...]]] | None:
    """((three outer lengths, inner), bytes per axis of each operand, the output last): as few axes as the strides allow.

    None if more axes are needed than there are, or an inner step is neither one element nor none.
    """
    target = np.empty((), np.float32)
    steps = [np.broadcast_to(a, shape).strides for a in arrays] + [_contiguous(shape, target.itemsize)]
    axes: list[tuple[int, list[int]]] = []
    for k, length in enumerate(shape):
        if length == 1:
            continue
        mine = [s[k] for s in steps]
        if axes and all(before == step * length for before, step in zip(axes[-1][1], mine, strict=True)):
            axes[-1] = (axes[-1][0] * length, mine)
        else:
            axes.append((length, mine))
    if not axes:
        axes = [(1, [0] * len(steps))]
        axes[0][1][-1] = 4
    if len(axes) > OUTER + 1 or any(step not in (0, 4) for step in axes[-1][1]):
        return None
    axes = [(1, [0] * len(steps))] * (OUTER + 1 - len(axes)) + axes
    return tuple(length for length, _ in axes), [tuple(axis[1][k] for axis in axes) for k in range(len(steps))]


def _contiguous(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    steps, size = [], itemsize
    for length in reversed(shape):
        steps.append(size)
        size *= length
    return tuple(reversed(steps))


def encode(program: Chain, inputs: Sequence[int]) -> tuple[Array, Array, int]:
    """(instructions, parameters, tiles): operand 0 is the output, then the inputs, then as few tiles as do."""
    place = {n: k + 1 for k, n in enumerate(inputs)}
    first_tile = len(inputs) + 1
    last_read = {n: k for k, i in enumerate(program.instructions) for n in (i.first, i.second)}
    free: list[int] = []
    tiles = 0
    words, parameters = [], []
    for k, step in enumerate(program.instructions):
        first = place[step.first]
        second = activation.NUMBERS[step.op] if step.second < 0 else place[step.second]
        for number in {step.first, step.second}:
            if number >= 0 and place[number] >= first_tile and last_read[number] == k:
                free.append(place[number])  # noqa: PERF401 — an instruction may write over what it reads
        if step.result == program.result:
            place[step.result] = 0
        elif free:
            place[step.result] = free.pop()
        else:
            place[step.result] = first_tile + tiles
            tiles += 1
        operation = chain.UNARY if step.second < 0 else COMBINE[step.op]
        words.append((operation, first, second, place[step.result]))
        parameters.append((step.p, step.q))
    return np.asarray(words, np.int64), np.asarray(parameters, np.float32), tiles


def _bind(
    code: Array, parameters: Array, shape: tuple[int, ...], strides: list[tuple[int, ...]], out: Array, room: Array,
    *inputs: Array,
) -> Step:  # fmt: skip
    arrays = [out, *inputs]
    table = np.asarray([(address(a), *s) for a, s in zip(arrays, [strides[-1], *strides[:-1]], strict=True)], np.int64)
    outer = np.asarray(shape[:OUTER], np.int64)
    call = partial(
        chain.run_chain.compiled, chain.combine.address, activation.finish.address, address(code), address(parameters),
        len(code), address(table), len(arrays), address(outer), shape[OUTER], address(room),
    )  # fmt: skip
    # A kernel knows the tables' addresses only: they live as long as the call.
    call.tables = (code, parameters, table, outer)  # type: ignore[attr-defined]
    return call
