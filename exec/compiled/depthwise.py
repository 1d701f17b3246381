"""Depthwise convolution: one plane at a time, copied once with its border, four rows of a vector's width computed together."""

from __future__ import annotations

from typing import Any

from exec.compiled.gemm import call_finish
from exec.compiled.moves import move_dense
from exec.compiled.toolchain import kernel
from exec.compiled.vectors import (
    LANES,
    PANEL,
    broadcast,
    evens,
    fill,
    fma,
    get,
    helper,
    larger,
    load,
    load_first,
    odds,
    smaller,
    store,
    store_first,
)


@helper
def split_line(at: Any, width: Any, first: Any, second: Any) -> Any:
    """The elements of a line in turn to two places."""
    whole = width - width % (2 * LANES)
    for j in range(0, whole, 2 * LANES):
        x, y = load(at + 4 * j), load(at + 4 * (j + LANES))
        store(first + 2 * j, evens(x, y))
        store(second + 2 * j, odds(x, y))
    if whole < width:
        left = width - whole
        x, y = load_first(at + 4 * whole, left), load_first(at + 4 * (whole + LANES), max(left - LANES, 0))
        store_first(first + 2 * whole, evens(x, y), (left + 1) // 2)
        store_first(second + 2 * whole, odds(x, y), left // 2)


@helper
def three_rows(at: Any, below: Any, w: Any, w_row: Any, a0: Any, a1: Any, a2: Any, a3: Any) -> Any:
    """Three taps of a column for four rows of the result: six lines are read, each once."""
    first, second, third = broadcast(w), broadcast(w + w_row), broadcast(w + 2 * w_row)
    x0, x1, x2, x3 = load(at), load(at + below), load(at + 2 * below), load(at + 3 * below)
    x4, x5 = load(at + 4 * below), load(at + 5 * below)
    a0 = fma(third, x2, fma(second, x1, fma(first, x0, a0)))
    a1 = fma(third, x3, fma(second, x2, fma(first, x1, a1)))
    a2 = fma(third, x4, fma(second, x3, fma(first, x2, a2)))
    a3 = fma(third, x5, fma(second, x4, fma(first, x3, a3)))
    return a0, a1, a2, a3


@helper
def two_rows(at: Any, below: Any, w: Any, w_row: Any, a0: Any, a1: Any, a2: Any, a3: Any) -> Any:
    """Two taps of a column for four rows of the result."""
    first, second = broadcast(w), broadcast(w + w_row)
    x0, x1, x2, x3, x4 = load(at), load(at + below), load(at + 2 * below), load(at + 3 * below), load(at + 4 * below)
    a0, a1 = fma(second, x1, fma(first, x0, a0)), fma(second, x2, fma(first, x1, a1))
    a2, a3 = fma(second, x3, fma(first, x2, a2)), fma(second, x4, fma(first, x3, a3))
    return a0, a1, a2, a3


@kernel("i i i i i i i i i i i i i i i i i i i i i i i i i i i f f f f")
def depthwise(
    finish: Any, x: Any, channels: Any, height: Any, width: Any, weights: Any, each: Any, kernel_h: Any, kernel_w: Any,
    stride_h: Any, stride_w: Any, step_h: Any, step_w: Any, top: Any, left: Any, out: Any, out_height: Any, out_width: Any,
    bias: Any, rest: Any, before: Any, code: Any, batch: Any, plane: Any, pitch: Any, lines: Any, phase: Any, p: Any, q: Any,
    low: Any, high: Any,
) -> Any:  # fmt: skip
    """activation(conv(x) + bias + rest) of (batch, channels, H, W), `each` outputs per channel; stride_w 1 or 2.

    plane         room for `lines` lines of `pitch` floats: the padded channel, a line's even columns before its odd ones
    phase         floats between the even and the odd columns of a line
    low, high     what results are kept in as they are stored; `code` is an activation that needs a pass of its own
    """
    for t in range(0, lines * pitch, LANES):
        store_first(plane + 4 * t, fill(0.0), min(LANES, lines * pitch - t))
    least, most = fill(low), fill(high)
    taps = kernel_h * kernel_w
    places = out_height * out_width
    for c in range(batch * channels):
        source = x + 4 * c * height * width
        inside = plane + 4 * top * pitch
        if stride_w == 1:
            for j in range(0, width, PANEL):
                count = min(PANEL, width - j)
                move_dense(source + 4 * j, 4 * width, inside + 4 * (left + j), 4 * pitch, height, 0, count, count, 1)
        else:
            first = inside + 4 * ((left & 1) * phase + (left >> 1))
            second = inside + 4 * (((left + 1) & 1) * phase + ((left + 1) >> 1))
            for i in range(height):
                split_line(source + 4 * i * width, width, first + 4 * i * pitch, second + 4 * i * pitch)
        for m in range(each):
            channel = (c % channels) * each + m
            shift = fill(0.0)
            if bias != 0:
                shift = fill(get(bias + 4 * channel))
            target = out + 4 * (c * each + m) * places
            w = weights + 4 * channel * taps
            apart, below = 4 * stride_h * pitch, 4 * pitch
            tall = kernel_h if stride_h == 1 and step_h == 1 else 0
            for row in range(0, out_height, 4):
                for column in range(0, out_width, LANES):
                    a0, a1, a2, a3 = shift, shift, shift, shift
                    start = plane + 4 * (row * stride_h * pitch + column)
                    for j in range(kernel_w):
                        offset = j * step_w
                        if stride_w == 2:
                            offset = (offset & 1) * phase + (offset >> 1)
                        at, tap = start + 4 * offset, w + 4 * j
                        if tall == 3:
                            a0, a1, a2, a3 = three_rows(at, below, tap, 4 * kernel_w, a0, a1, a2, a3)
                        elif tall == 5:
                            a0, a1, a2, a3 = three_rows(at, below, tap, 4 * kernel_w, a0, a1, a2, a3)
                            at, tap = at + 3 * below, tap + 12 * kernel_w
                            a0, a1, a2, a3 = two_rows(at, below, tap, 4 * kernel_w, a0, a1, a2, a3)
                        else:
                            for i in range(kernel_h):
                                v = broadcast(tap + 4 * i * kernel_w)
                                line = at + i * step_h * below
                                a0 = fma(v, load(line), a0)
                                a1 = fma(v, load(line + apart), a1)
                                a2 = fma(v, load(line + 2 * apart), a2)
                                a3 = fma(v, load(line + 3 * apart), a3)
                    kept = min(LANES, out_width - column)
                    to = target + 4 * (row * out_width + column)
                    store_first(to, smaller(most, larger(least, a0)), kept)
                    if row + 1 < out_height:
                        store_first(to + 4 * out_width, smaller(most, larger(least, a1)), kept)
                    if row + 2 < out_height:
                        store_first(to + 8 * out_width, smaller(most, larger(least, a2)), kept)
                    if row + 3 < out_height:
                        store_first(to + 12 * out_width, smaller(most, larger(least, a3)), kept)
            if rest != 0 or code != 0:
                other = rest + 4 * (c * each + m) * places if rest != 0 else 0
                call_finish(finish, target, 0, target, 0, 1, places, 0, 0, 0, other, 0, before, code, p, q)
