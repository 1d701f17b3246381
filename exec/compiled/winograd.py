"""Winograd's F(4×4, 3×3) over panels of tiles: transform, 36 products, transform back, all while the panel is in the cache.

Sixteen tiles (or as many as a vector has lanes) are transformed at a time, one per lane; only additions and small multiples, no
products with the transformation's matrix.
"""

from __future__ import annotations

import math
from typing import Any

from exec.compiled.gemm import call_finish, call_rows
from exec.compiled.moves import move_dense
from exec.compiled.shuffles import fourth_0, fourth_1, fourth_2, fourth_3, put_fourths
from exec.compiled.toolchain import kernel, part
from exec.compiled.vectors import LANES, PANEL, ROWS, add, caller, fill, fma, helper, load, multiply, store, subtract

INFINITY = math.inf

STEP = 4 * PANEL
"""Bytes of one row of a panel."""

LINE = 4 * (4 * PANEL + 8 * LANES)
"""Bytes of one line of gathered tiles: four elements per tile, and room to read a vector too far."""

INPUT_SCRATCH = 12 * LINE + 36 * 4 * LANES
OUTPUT_SCRATCH = 4 * LINE + 24 * 4 * LANES
BLOCK = 2 * ROWS
"""Output channels per block of products."""

INPUT_KINDS = "i i i i i i i i i i i i"
OUTPUT_KINDS = "i i i i i i i i i i i i i i i f f"
call_input, call_output = caller(INPUT_KINDS), caller(OUTPUT_KINDS)


@helper
def transform_six(at: Any, between: Any, to: Any, apart: Any) -> Any:
    """Bᵀ times the six vectors at `at`, `between` bytes apart."""
    d0, d1, d2 = load(at), load(at + between), load(at + 2 * between)
    d3, d4, d5 = load(at + 3 * between), load(at + 4 * between), load(at + 5 * between)
    four, five, two = fill(4.0), fill(5.0), fill(2.0)
    a = subtract(d4, multiply(d2, four))
    b = subtract(d3, multiply(d1, four))
    c = subtract(d4, d2)
    e = multiply(subtract(d3, d1), two)
    store(to, add(subtract(multiply(d0, four), multiply(d2, five)), d4))
    store(to + apart, add(a, b))
    store(to + 2 * apart, subtract(a, b))
    store(to + 3 * apart, add(c, e))
    store(to + 4 * apart, subtract(c, e))
    store(to + 5 * apart, add(subtract(multiply(d1, four), multiply(d3, five)), d5))


@part(INPUT_KINDS)
def transform_input(
    x: Any, plane: Any, channels: Any, height: Any, width: Any, top: Any, left: Any, tiles_wide: Any, first: Any, count: Any,
    panel: Any, scratch: Any,
) -> Any:  # fmt: skip
    """Tiles `first` … `first + count` of every channel into panel (36, channels, PANEL)."""
    rows = scratch + 12 * LINE
    for channel in range(channels):
        source = x + 4 * channel * plane
        done = 0
        while done < count:
            tile = first + done
            row = tile // tiles_wide
            column = tile - row * tiles_wide
            tiles = min(count - done, tiles_wide - column)
            line, start = 4 * row - top, 4 * column - left
            for shift in range(2):  # elements 0…3 of each tile's rows, then 4…7, of which two are read
                begin = start + 4 * shift
                target = scratch + shift * 6 * LINE + 16 * done
                for j in range(0, 4 * tiles, PANEL):
                    run = min(4 * tiles - j, PANEL)
                    low, high = max(0, -(begin + j)), min(run, width - (begin + j))
                    at, to = source + 4 * (line * width + begin + j), target + 4 * j
                    if line >= 0 and line + 6 <= height:
                        move_dense(at, 4 * width, to, LINE, 6, low, high, run, 1)
                    else:
                        for i in range(6):
                            inside = high if 0 <= line + i < height else 0
                            move_dense(at + 4 * i * width, 0, to + i * LINE, 0, 1, low, inside, run, 1)
            done += tiles
        for t in range(0, count, LANES):
            for i in range(6):
                near, far = scratch + i * LINE + 16 * t, scratch + (6 + i) * LINE + 16 * t
                to = rows + i * 24 * LANES
                d0, d1, d2, d3 = fourth_0(near), fourth_1(near), fourth_2(near), fourth_3(near)
                d4, d5 = fourth_0(far), fourth_1(far)
                four, five, two = fill(4.0), fill(5.0), fill(2.0)
                a = subtract(d4, multiply(d2, four))
                b = subtract(d3, multiply(d1, four))
                c = subtract(d4, d2)
                e = multiply(subtract(d3, d1), two)
                store(to, add(subtract(multiply(d0, four), multiply(d2, five)), d4))
                store(to + 4 * LANES, add(a, b))
                store(to + 8 * LANES, subtract(a, b))
                store(to + 12 * LANES, add(c, e))
                store(to + 16 * LANES, subtract(c, e))
                store(to + 20 * LANES, add(subtract(multiply(d1, four), multiply(d3, five)), d5))
            for j in range(6):
                to = panel + j * channels * STEP + channel * STEP + 4 * t
                transform_six(rows + 4 * j * LANES, 24 * LANES, to, 6 * channels * STEP)


@helper
def transform_back(at: Any, between: Any, to: Any, apart: Any) -> Any:
    """Aᵀ times the six vectors at `at`."""
    m0, m1, m2 = load(at), load(at + between), load(at + 2 * between)
    m3, m4, m5 = load(at + 3 * between), load(at + 4 * between), load(at + 5 * between)
    a, b, c, d = add(m1, m2), subtract(m1, m2), add(m3, m4), subtract(m3, m4)
    store(to, add(add(m0, a), c))
    store(to + apart, fma(d, fill(2.0), b))
    store(to + 2 * apart, fma(c, fill(4.0), a))
    store(to + 3 * apart, add(fma(d, fill(8.0), b), m5))


@part(OUTPUT_KINDS)
def transform_output(
    finish: Any, products: Any, rows: Any, out: Any, out_height: Any, out_width: Any, tiles_wide: Any, first: Any, count: Any,
    bias: Any, rest: Any, before: Any, code: Any, scratch: Any, block: Any, p: Any, q: Any,
) -> Any:  # fmt: skip
    """`rows` channels of products (36, BLOCK, PANEL) to their places in `out`, with bias, rest and activation."""
    half = scratch + 4 * LINE
    for r in range(rows):
        for t in range(0, count, LANES):
            at = products + r * STEP + 4 * t
            for j in range(6):
                transform_back(at + j * block * STEP, 6 * block * STEP, half + 4 * j * LANES, 24 * LANES)
            for i in range(4):
                h = half + 24 * i * LANES
                m0, m1, m2 = load(h), load(h + 4 * LANES), load(h + 8 * LANES)
                m3, m4, m5 = load(h + 12 * LANES), load(h + 16 * LANES), load(h + 20 * LANES)
                a, b, c, d = add(m1, m2), subtract(m1, m2), add(m3, m4), subtract(m3, m4)
                y0, y1 = add(add(m0, a), c), fma(d, fill(2.0), b)
                y2, y3 = fma(c, fill(4.0), a), add(fma(d, fill(8.0), b), m5)
                put_fourths(scratch + i * LINE + 16 * t, y0, y1, y2, y3)
        done = 0
        while done < count:
            tile = first + done
            row = tile // tiles_wide
            column = tile - row * tiles_wide
            tiles = min(count - done, tiles_wide - column)
            place = r * out_height * out_width + 4 * row * out_width + 4 * column
            shift = bias + 4 * r if bias != 0 else 0
            other = rest + 4 * place if rest != 0 else 0
            call_finish(
                finish, scratch + 16 * done, LINE, out + 4 * place, 4 * out_width, min(4, out_height - 4 * row),
                min(4 * tiles, out_width - 4 * column), shift, 0, 0, other, 4 * out_width, before, code, p, q,
            )  # fmt: skip
            done += tiles


@kernel("i i i i i i i i i i i i i i i i i i i i i i i f f")
def winograd(
    finish: Any, multiply: Any, into: Any, back: Any, x: Any, channels: Any, height: Any, width: Any, top: Any, left: Any,
    weights: Any, out: Any, outputs: Any, out_height: Any, out_width: Any, bias: Any, rest: Any, before: Any, code: Any,
    batch: Any, most: Any, panel: Any, scratch: Any, p: Any, q: Any,
) -> Any:  # fmt: skip
    """activation(conv(x) + bias + rest); weights by `pack_points`.

    most     tiles per panel: fewer where many channels would push a panel out of the cache
    panel    room for 36·channels + 36·BLOCK rows; scratch for the transforms
    """
    tiles_wide, tiles_high = (out_width + 3) // 4, (out_height + 3) // 4
    products = panel + 36 * channels * STEP
    places = out_height * out_width
    for j in range(
        0, 12 * LINE, 4 * LANES
    ):  # lanes without a tile are transformed too: whatever lay there might be denormal
        store(scratch + j, fill(0.0))
    for t in range(batch):
        source, target = x + 4 * t * channels * height * width, out + 4 * t * outputs * places
        for first in range(0, tiles_wide * tiles_high, most):
            count = min(most, tiles_wide * tiles_high - first)
            call_input(
                into,
                source,
                height * width,
                channels,
                height,
                width,
                top,
                left,
                tiles_wide,
                first,
                count,
                panel,
                scratch,
            )
            for low in range(0, outputs, BLOCK):
                rows = min(BLOCK, outputs - low)
                for point in range(36):
                    a = weights + 4 * channels * (36 * low + point * BLOCK)
                    call_rows(
                        multiply, a, 4, 4 * ROWS, 4 * BLOCK, panel + point * channels * STEP, 0, channels,
                        products + point * BLOCK * STEP, STEP, rows, count, 0, a + 8 * ROWS * channels, 0, 0, 0, -INFINITY,
                        INFINITY,
                    )  # fmt: skip
                shift = bias + 4 * low if bias != 0 else 0
                other = rest + 4 * (t * outputs + low) * places if rest != 0 else 0
                call_output(
                    back, finish, products, rows, target + 4 * low * places, out_height, out_width, tiles_wide, first, count,
                    shift, other, before, code, scratch, BLOCK, p, q,
                )  # fmt: skip
