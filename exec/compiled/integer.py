"""Convolutions and products of bytes, exact in int32, and the way between bytes and float32."""

from __future__ import annotations

from typing import Any

from exec.compiled.activation import FINISH_KINDS
from exec.compiled.bytes import (
    adjust_words,
    load_signed,
    load_unsigned,
    load_words,
    move_even_quads,
    move_quads,
    store_bytes,
)
from exec.compiled.integer_tile import integer_tile
from exec.compiled.toolchain import kernel, part
from exec.compiled.vectors import (
    COLUMNS,
    LANES,
    PANEL,
    ROWS,
    add,
    caller,
    divide,
    fill,
    fma,
    get,
    get_byte,
    get_word,
    larger,
    load_first,
    multiply,
    rint,
    smaller,
    store_first,
    subtract,
)

ROWS_TILE_1 = integer_tile(2 * ROWS, 1, signed_panel=False)
ROWS_TILE_2 = integer_tile(ROWS, 2, signed_panel=False)
ROWS_TILE_3 = integer_tile(ROWS, COLUMNS, signed_panel=False)
PANEL_TILE_3 = integer_tile(ROWS, COLUMNS, signed_panel=True)

STEP = 4 * PANEL
"""Bytes of a panel's row: four k for each column."""


@kernel("i i i i i i")
def quantize(x: Any, out: Any, count: Any, zero: Any, signed: Any, scale_at: Any) -> Any:
    """out = saturate(round(x / scale) + zero) as bytes; NaN becomes the lowest value."""
    scale = fill(get(scale_at))
    low, high = (-128.0, 127.0) if signed != 0 else (0.0, 255.0)
    shift = 0.0
    if zero != 0:
        shift = float(get_byte(zero) - 256 if signed != 0 and get_byte(zero) > 127 else get_byte(zero))
    for j in range(0, count, LANES):
        left = min(LANES, count - j)
        v = add(rint(divide(load_first(x + 4 * j, left), scale)), fill(shift))
        # larger(a, b) is b unless a > b, so NaN must come first to lose.
        store_bytes(out + j, smaller(larger(v, fill(low)), fill(high)), left)


@kernel("i i i i i i")
def dequantize(x: Any, out: Any, count: Any, zero: Any, signed: Any, scale_at: Any) -> Any:
    """out = (x − zero) · scale in float32."""
    scale = fill(get(scale_at))
    shift = 0.0
    if zero != 0:
        shift = float(get_byte(zero) - 256 if signed != 0 and get_byte(zero) > 127 else get_byte(zero))
    for j in range(0, count, LANES):
        left = min(LANES, count - j)
        v = load_signed(x + j, left) if signed != 0 else load_unsigned(x + j, left)
        store_first(out + 4 * j, multiply(subtract(v, fill(shift)), scale), left)


MULTIPLY_KINDS = "i i i i i i i i"
GATHER_KINDS = "i i i i i i i i i i i i i i i i i i i"
call_multiply, call_gather, call_finish = caller(MULTIPLY_KINDS), caller(GATHER_KINDS), caller(FINISH_KINDS)


@part(MULTIPLY_KINDS)
def multiply_byte_rows(a: Any, panels: Any, panel_bytes: Any, steps: Any, c: Any, c_row: Any, m: Any, n: Any) -> Any:
    """C (m ≤ 2·ROWS, n) in int32: packed signed weights times panels of unsigned bytes."""
    for j in range(0, n, PANEL):
        columns = min(PANEL, n - j)
        b, to = panels + (j // PANEL) * panel_bytes, c + 4 * j
        if columns <= LANES and m > ROWS:
            ROWS_TILE_1(a, 4, 8 * ROWS, b, STEP, steps, to, c_row, m, columns)
            continue
        for i in range(0, m, ROWS):
            rows, at, place = min(ROWS, m - i), a + 4 * i, to + i * c_row
            if columns > 2 * LANES:
                ROWS_TILE_3(at, 4, 8 * ROWS, b, STEP, steps, place, c_row, rows, columns)
            else:
                ROWS_TILE_2(at, 4, 8 * ROWS, b, STEP, steps, place, c_row, rows, columns)


@part(GATHER_KINDS)
def gather_bytes(
    x: Any, plane: Any, channels: Any, height: Any, width: Any, kernel_h: Any, kernel_w: Any, stride_h: Any, stride_w: Any,
    step_h: Any, step_w: Any, top: Any, left: Any, out_width: Any, first: Any, count: Any, panel: Any, border: Any,
    flip: Any,
) -> Any:  # fmt: skip
    """Columns of the column matrix, rows in the order (tap, four channels); outside the image lies `border`."""
    quads = (channels + 3) // 4
    done = 0
    while done < count:
        place = first + done
        row = place // out_width
        column = place - row * out_width
        run = min(count - done, out_width - column)
        filled = run if done + run < count else PANEL - done
        for i in range(kernel_h):
            line = row * stride_h + i * step_h - top
            inside = 0 <= line < height
            for j in range(kernel_w):
                start = column * stride_w + j * step_w - left
                low, high = 0, 0
                if inside:
                    if start < 0:
                        low = (stride_w - 1 - start) // stride_w
                    if start < width:
                        high = min(run, (width - 1 - start) // stride_w + 1)
                to = panel + (i * kernel_w + j) * quads * STEP + 4 * done
                at = x + line * width + start
                if stride_w == 1:
                    move_quads(at, plane, channels, to, STEP, low, high, filled, border, flip)
                else:
                    move_even_quads(at, plane, channels, to, STEP, low, high, filled, border, flip)
        done += run


@kernel("i i i i i i i i i i i i i i i i i i i i i i i i i i i i i i i i i i f f")
def convolve_bytes(
    multiply_part: Any, finish: Any, gather: Any, x: Any, channels: Any, height: Any, width: Any, weights: Any, kernel_h: Any, kernel_w: Any,
    stride_h: Any, stride_w: Any, step_h: Any, step_w: Any, top: Any, left: Any, out: Any, outputs: Any, out_height: Any,
    out_width: Any, group: Any, batch: Any, chunk: Any, panels: Any, sums: Any, zero: Any, flip: Any, weight_sums: Any,
    weight_zeros: Any, scales: Any, bias: Any, rest: Any, before: Any, code: Any, p: Any, q: Any,
) -> Any:  # fmt: skip
    """(batch, channels·group, H, W) bytes times signed weights, as int32, or scaled to float32.

    weights       per group ⌈outputs/2·ROWS⌉ blocks (steps, 2·ROWS, 4), then one block whose first row is ones
    zero, flip    where the zero point lies (0: there is none), and the bits that make signed bytes unsigned
    weight_sums   Σ of each output's weights; weight_zeros, their zero points, or 0 where all are 0
    scales, bias  per output, or 0 for int32; with scales, `rest` is added and activation `code` applied
    """
    plane, places, taps = height * width, out_height * out_width, kernel_h * kernel_w
    steps = taps * ((channels + 3) // 4)
    pairs = (outputs + 2 * ROWS - 1) // (2 * ROWS)
    room = STEP * steps
    count_k = channels * taps
    border = 0
    if zero != 0:
        border = get_byte(zero)
    centre = border ^ flip
    for t in range(batch * group):
        g = t % group
        matrix = weights + g * (pairs + 1) * 8 * ROWS * steps
        for first in range(0, places, chunk):
            columns = min(chunk, places - first)
            for j in range(0, columns, PANEL):
                call_gather(
                    gather, x + t * channels * plane, plane, channels, height, width, kernel_h, kernel_w, stride_h, stride_w,
                    step_h, step_w, top, left, out_width, first + j, min(PANEL, columns - j), panels + (j // PANEL) * room,
                    border, flip,
                )  # fmt: skip
            if weight_zeros != 0:
                ones = matrix + pairs * 8 * ROWS * steps
                call_multiply(multiply_part, ones, panels, room, steps, sums + 8 * ROWS * chunk, 4 * chunk, 1, columns)
            for i in range(0, outputs, 2 * ROWS):
                rows = min(2 * ROWS, outputs - i)
                call_multiply(
                    multiply_part, matrix + i * 4 * steps, panels, room, steps, sums, 4 * chunk, rows, columns
                )
                for r in range(rows):
                    o = g * outputs + i + r
                    other = 0
                    if weight_zeros != 0:
                        other = get_word(weight_zeros + 4 * o)
                    shift = centre * (count_k * other - get_word(weight_sums + 4 * o))
                    to = out + 4 * ((t * outputs + i + r) * places + first)
                    line = sums + 4 * r * chunk
                    if scales != 0:
                        scale, summand = fill(get(scales + 4 * o)), fill(0.0)
                        if bias != 0:
                            summand = fill(get(bias + 4 * o))
                        moved = fill(float(shift))
                        for j in range(0, columns, LANES):
                            kept = min(LANES, columns - j)
                            v = add(load_words(line + 4 * j, kept), moved)
                            if other != 0:
                                seen = load_words(sums + 8 * ROWS * chunk + 4 * j, kept)
                                v = subtract(v, multiply(seen, fill(float(other))))
                            store_first(to + 4 * j, fma(v, scale, summand), kept)
                        if rest != 0 or code != 0:
                            added = rest + 4 * ((t * outputs + i + r) * places + first) if rest != 0 else 0
                            call_finish(finish, to, 0, to, 0, 1, columns, 0, 0, 0, added, 0, before, code, p, q)
                    else:
                        for j in range(0, columns, LANES):
                            kept = min(LANES, columns - j)
                            seen_at = sums + 8 * ROWS * chunk + 4 * j if other != 0 else line + 4 * j
                            adjust_words(line + 4 * j, to + 4 * j, kept, shift, seen_at, -other, line + 4 * j, 0)


@kernel("i i i i i i i i i i i i i i i")
def multiply_bytes(
    a: Any, a_row: Any, panels: Any, steps: Any, c: Any, c_row: Any, m: Any, n: Any, count_k: Any, zero: Any, flip: Any,
    weight_sums: Any, weight_zeros: Any, scales: Any, bias: Any,
) -> Any:  # fmt: skip
    """C (m, n) = rows of bytes times signed weights in panels, as int32 or scaled to float32.

    Rows of A are padded to whole words with any byte: the weights there are zero. Weights have one column more than n, of ones: its
    sums are what their zero points are multiplied with; so C has room for it.
    """
    centre = flip
    if zero != 0:
        centre = get_byte(zero) ^ flip
    wide = n + 1 if weight_zeros != 0 else n
    for j in range(0, wide, PANEL):
        for i in range(0, m, ROWS):
            PANEL_TILE_3(
                a + i * a_row, a_row, 4, panels + 4 * j * steps, STEP, steps, c + i * c_row + 4 * j, c_row, min(ROWS, m - i),
                min(PANEL, wide - j),
            )  # fmt: skip
    for i in range(m):
        line = c + i * c_row
        seen = get_word(line + 4 * n) if weight_zeros != 0 else 0
        for j in range(0, n, LANES):
            kept = min(LANES, n - j)
            at = line + 4 * j
            if weight_zeros != 0:  # centre·(k·zero − Σw) − seen·zero, the zero points' factors gathered
                factor = centre * count_k - seen
                adjust_words(at, at, kept, 0, weight_sums + 4 * j, -centre, weight_zeros + 4 * j, factor)
            else:
                adjust_words(at, at, kept, 0, weight_sums + 4 * j, -centre, at, 0)
        if scales != 0:
            for j in range(0, n, LANES):
                kept = min(LANES, n - j)
                v = multiply(load_words(line + 4 * j, kept), load_first(scales + 4 * j, kept))
                if bias != 0:
                    v = add(v, load_first(bias + 4 * j, kept))
                store_first(line + 4 * j, v, kept)
