"""LSTM over time: one product and one sweep over the gates per step."""

from __future__ import annotations

import math
from typing import Any

from exec.compiled.activation import sigmoid_of, tanh_of
from exec.compiled.gemm import call_multiply
from exec.compiled.toolchain import kernel, part
from exec.compiled.vectors import LANES, ROWS, add, caller, fma, get_int, load_first, multiply, store_first

INFINITY = math.inf


CELL_KINDS = "i i i i i i"
call_cell = caller(CELL_KINDS)


@part(CELL_KINDS)
def cell_step(now: Any, cell: Any, h: Any, y: Any, batch: Any, hidden: Any) -> Any:
    """New states from the gates of one step (batch, 4·hidden; order i, o, f, c); y is 0, or a second place for h."""
    for b in range(batch):
        at, row = now + 16 * b * hidden, 4 * b * hidden
        for j in range(0, hidden, LANES):
            left = min(LANES, hidden - j)
            i = sigmoid_of(load_first(at + 4 * j, left))
            o = sigmoid_of(load_first(at + 4 * (hidden + j), left))
            f = sigmoid_of(load_first(at + 4 * (2 * hidden + j), left))
            c = tanh_of(load_first(at + 4 * (3 * hidden + j), left))
            c = fma(f, load_first(cell + row + 4 * j, left), multiply(i, c))
            store_first(cell + row + 4 * j, c, left)
            v = multiply(o, tanh_of(c))
            store_first(h + row + 4 * j, v, left)
            if y != 0:
                store_first(y + row + 4 * j, v, left)


@kernel("i i i i i i i")
def add_and_step(now: Any, gates: Any, cell_part: Any, cell: Any, h: Any, y: Any, sizes: Any) -> Any:
    """The inputs' part of the gates added, then one step; sizes holds batch and hidden."""
    batch, hidden = get_int(sizes), get_int(sizes + 8)
    count = 4 * batch * hidden
    for j in range(0, count, LANES):
        left = min(LANES, count - j)
        store_first(now + 4 * j, add(load_first(now + 4 * j, left), load_first(gates + 4 * j, left)), left)
    call_cell(cell_part, now, cell, h, y, batch, hidden)


@kernel("i i i i i i i i i i i i i i f f")
def lstm(
    multiply_part: Any, cell_part: Any, gates: Any, panels: Any, h: Any, cell: Any, now: Any, y: Any, y_step: Any, time: Any, batch: Any,
    hidden: Any, backward: Any, columns: Any, low: Any, high: Any,
) -> Any:  # fmt: skip
    """Steps of a layer whose inputs' part of the gates (time, batch, 4·hidden; order i, o, f, c) is already there.

    panels    the recurrent weights (hidden, 4·hidden), packed; columns per panel
    h, cell   states (batch, hidden), read and left behind; now, room for the gates of a step
    y         0, or where h goes at every step, y_step bytes apart
    """
    four = 4 * hidden
    for n in range(time):
        step = time - 1 - n if backward != 0 else n
        for j in range(0, four, columns):
            panel = panels + 4 * j * hidden
            call_multiply(
                multiply_part, h, 4 * hidden, 4 * ROWS * hidden, 4, panel, hidden, now + 4 * j, 4 * four, batch,
                min(columns, four - j), 0, panel + 4 * columns * hidden, 0, gates + 4 * (step * batch * four + j), 4 * four,
                low, high,
            )  # fmt: skip
        target = y + step * y_step if y != 0 else 0
        call_cell(cell_part, now, cell, h, target, batch, hidden)
