"""Matrix products over packed panels, with bias, residual and activation applied while the result is in the cache.

A panel of B is (k, PANEL) floats, packed once for weights and by `pack_panel` for what changes every run. Per panel, all rows of A
pass; the panel stays in the second-level cache, A streams.
"""

from __future__ import annotations

from typing import Any

from exec.compiled.activation import FINISH_KINDS
from exec.compiled.moves import move_apart, move_dense
from exec.compiled.shuffles import turn
from exec.compiled.tile import register_tile
from exec.compiled.toolchain import kernel, part
from exec.compiled.vectors import COLUMNS, LANES, PANEL, ROWS, caller

TILES = [register_tile(ROWS if n > 1 else 2 * ROWS, n) for n in range(1, COLUMNS + 1)]
TILE_1, TILE_2, TILE_3 = TILES[0], TILES[1], TILES[-1]
"""One vector wide with twice the rows (as many accumulators hide the latency), two wide, and the full panel."""

MULTIPLY_KINDS = "i i i i i i i i i i i i i i i f f"
PACK_KINDS = "i i i i i i"

call_multiply, call_finish, call_pack = caller(MULTIPLY_KINDS), caller(FINISH_KINDS), caller(PACK_KINDS)


@part(MULTIPLY_KINDS)
def multiply_panel(
    a: Any, a_row: Any, a_block: Any, a_step: Any, b: Any, k: Any, c: Any, c_row: Any, m: Any, columns: Any,
    accumulate: Any, soon: Any, bias: Any, rest: Any, rest_row: Any, low: Any, high: Any,
) -> Any:  # fmt: skip
    """C (m, columns ≤ PANEL) = A·panel + bias (columns) + rest, kept in [low, high].

    Rows of A lie `a_row` bytes apart inside a block of ROWS, blocks `a_block`.

    soon  where the next panel lies: it is asked for little by little, so that its first block of rows need not wait
    """
    step = 4 * PANEL
    soon_step = step // ((m + ROWS - 1) // ROWS)
    if columns <= LANES and a_block == ROWS * a_row:
        for i in range(0, m, 2 * ROWS):
            rows = min(2 * ROWS, m - i)
            TILE_1(
                a + i * a_row, a_row, a_step, b, step, k, c + i * c_row, c_row, rows, columns, accumulate, soon, soon_step,
                0, bias, rest, rest_row, low, high,
            )  # fmt: skip
            soon += k * soon_step
            if rest != 0:
                rest += 2 * ROWS * rest_row
        return
    for i in range(0, m, ROWS):
        at, to, rows = a + (i // ROWS) * a_block, c + i * c_row, min(ROWS, m - i)
        if COLUMNS > 2 and columns > 2 * LANES:
            TILE_3(
                at, a_row, a_step, b, step, k, to, c_row, rows, columns, accumulate, soon, soon_step, 0, bias, rest,
                rest_row, low, high,
            )  # fmt: skip
        else:
            TILE_2(
                at, a_row, a_step, b, step, k, to, c_row, rows, columns, accumulate, soon, soon_step, 0, bias, rest,
                rest_row, low, high,
            )  # fmt: skip
        soon += k * soon_step
        if rest != 0:
            rest += ROWS * rest_row


ROWS_KINDS = "i i i i i i i i i i i i i i i i f f"
call_rows = caller(ROWS_KINDS)


@part(ROWS_KINDS)
def multiply_rows(
    a: Any, a_row: Any, a_block: Any, a_step: Any, panels: Any, panel_bytes: Any, k: Any, c: Any, c_row: Any, m: Any,
    n: Any, accumulate: Any, soon: Any, bias: Any, rest: Any, rest_row: Any, low: Any, high: Any,
) -> Any:  # fmt: skip
    """C (m ≤ 2·ROWS, n) = A·panels + bias (m) + rest, kept in [low, high].

    A few rows of A, which stay in the first-level cache, against several panels; `soon` is what will be A next.
    """
    step = 4 * PANEL
    soon_step = 8 * ROWS // (2 * ((n + PANEL - 1) // PANEL))
    for j in range(0, n, PANEL):
        columns = min(PANEL, n - j)
        b, to = panels + (j // PANEL) * panel_bytes, c + 4 * j
        other = rest + 4 * j if rest != 0 else 0
        if columns <= LANES and m > ROWS and a_block == ROWS * a_row:
            TILE_1(
                a, a_row, a_step, b, step, k, to, c_row, m, columns, accumulate, soon, soon_step, bias, 0, other, rest_row,
                low, high,
            )  # fmt: skip
            continue
        for i in range(0, m, ROWS):
            at, place, rows = a + (i // ROWS) * a_block, to + i * c_row, min(ROWS, m - i)
            shift = bias + 4 * i if bias != 0 else 0
            block = other + i * rest_row if other != 0 else 0
            if COLUMNS > 2 and columns > 2 * LANES:
                TILE_3(
                    at, a_row, a_step, b, step, k, place, c_row, rows, columns, accumulate, soon, soon_step, shift, 0, block,
                    rest_row, low, high,
                )  # fmt: skip
            else:
                TILE_2(
                    at, a_row, a_step, b, step, k, place, c_row, rows, columns, accumulate, soon, soon_step, shift, 0, block,
                    rest_row, low, high,
                )  # fmt: skip
            soon += k * soon_step


@part(PACK_KINDS)
def pack_panel(b: Any, b_row: Any, b_column: Any, k: Any, columns: Any, panel: Any) -> Any:
    """Copy k rows of `columns` ≤ PANEL elements, padded with zeros."""
    if b_column == 4:
        move_dense(b, b_row, panel, 4 * PANEL, k, 0, columns, PANEL, 1)
    else:
        move_apart(b, b_row, panel, 4 * PANEL, k, 0, columns, PANEL, b_column // 4)


TURN_KINDS = "i i i i i"
call_turn = caller(TURN_KINDS)


@part(TURN_KINDS)
def turn_rows(a: Any, a_row: Any, m: Any, k: Any, room: Any) -> Any:
    """A (m, k), row by row, as blocks (⌈m/ROWS⌉, k, ROWS)."""
    for i in range(0, m, ROWS):
        for j in range(0, k, LANES):
            turn(a + i * a_row + 4 * j, a_row, min(ROWS, m - i), min(LANES, k - j), room + 4 * (i * k + j * ROWS))


@kernel("i i i i i i i i i i i i i i i i i i i f f f f")
def product(
    multiply: Any, finish: Any, pack: Any, a: Any, a_row: Any, a_step: Any, panels: Any, k: Any, c: Any, c_row: Any,
    m: Any, n: Any, bias: Any, rest: Any, rest_row: Any, before: Any, code: Any, ends: Any, room: Any, low: Any, high: Any,
    p: Any, q: Any,
) -> Any:  # fmt: skip
    """C (m, n) = activation(A·B + bias (n) + rest), B in panels.

    ends   whether bias, rest and activation need a pass of their own: bounds do not
    room   0, or where A is turned first: one sweep through memory instead of ROWS, for every panel
    """
    a_block = ROWS * a_row
    if room != 0:
        call_turn(pack, a, a_row, m, k, room)
        a, a_row, a_step, a_block = room, 4, 4 * ROWS, 4 * ROWS * k
    for j in range(0, n, PANEL):
        columns = min(PANEL, n - j)
        to, panel = c + 4 * j, panels + 4 * j * k
        shift = bias + 4 * j if bias != 0 else 0
        other = rest + 4 * j if rest != 0 else 0
        after = panel + 4 * PANEL * k
        if ends != 0:
            call_multiply(
                multiply, a, a_row, a_block, a_step, panel, k, to, c_row, m, columns, 0, after, 0, 0, 0, low, high
            )
            call_finish(finish, to, c_row, to, c_row, m, columns, shift, 0, 4, other, rest_row, before, code, p, q)
        else:
            call_multiply(
                multiply, a, a_row, a_block, a_step, panel, k, to, c_row, m, columns, 0, after, shift, other, rest_row, low,
                high,
            )  # fmt: skip


@kernel("i i i i i i i i i i i i i i i i i i f f")
def batched(
    multiply: Any, pack: Any, a: Any, a_batch: Any, a_row: Any, a_step: Any, b: Any, b_batch: Any, b_row: Any,
    b_column: Any, c: Any, c_batch: Any, c_row: Any, m: Any, n: Any, k: Any, batches: Any, panel: Any, low: Any, high: Any,
) -> Any:  # fmt: skip
    """C[t] = A[t]·B[t] for matrices of any strides (bytes; A's columns included), B packed a panel at a time."""
    for t in range(batches):
        for j in range(0, n, PANEL):
            columns = min(PANEL, n - j)
            call_pack(pack, b + t * b_batch + j * b_column, b_row, b_column, k, columns, panel)
            at, to = a + t * a_batch, c + t * c_batch + 4 * j
            call_multiply(
                multiply, at, a_row, ROWS * a_row, a_step, panel, k, to, c_row, m, columns, 0, at, 0, 0, 0, low, high
            )
