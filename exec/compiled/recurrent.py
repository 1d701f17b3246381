"""LSTM over time: one product and one sweep over the gates per step."""

from __future__ import annotations

import math
from typing import Any

from exec.compiled.activation import sigmoid_of, tanh_of
from exec.compiled.gemm import call_multiply
from exec.compiled.toolchain import kernel
from exec.compiled.vectors import LANES, ROWS, fma, load_first, multiply, store_first

INFINITY = math.inf


@kernel("i i i i i i i i i i i i i f f")
def lstm(
    multiply_part: Any, gates: Any, panels: Any, h: Any, cell: Any, now: Any, y: Any, y_step: Any, time: Any, batch: Any,
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
        for b in range(batch):
            at, row = now + 4 * b * four, 4 * b * hidden
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
                    store_first(y + step * y_step + row + 4 * j, v, left)
