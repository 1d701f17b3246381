"""Convolution as a product whose panels are gathered from the image: no column matrix, no padded copy."""

from __future__ import annotations

import math
from typing import Any

from exec.compiled.gemm import call_finish, call_rows
from exec.compiled.moves import move_apart, move_dense, move_even
from exec.compiled.toolchain import kernel, part
from exec.compiled.vectors import PANEL, ROWS, caller

GATHER_KINDS = "i i i i i i i i i i i i i i i i i"
call_gather = caller(GATHER_KINDS)
INFINITY = math.inf


@part(GATHER_KINDS)
def gather_panel(
    x: Any, plane: Any, channels: Any, height: Any, width: Any, kernel_h: Any, kernel_w: Any, stride_h: Any, stride_w: Any,
    step_h: Any, step_w: Any, top: Any, left: Any, out_width: Any, first: Any, count: Any, panel: Any,
) -> Any:  # fmt: skip
    """Columns `first` … `first + count` of the column matrix, rows in the order (channel, tap row, tap column)."""
    taps = kernel_h * kernel_w
    done = 0
    while done < count:
        place = first + done
        row = place // out_width
        column = place - row * out_width
        run = min(count - done, out_width - column)
        # What follows the last column is multiplied too: zeros, since whatever lay there might be denormal, which is slow.
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
                to = panel + 4 * ((i * kernel_w + j) * PANEL + done)
                at = x + 4 * (line * width + start)
                if stride_w == 1:
                    move_dense(at, 4 * plane, to, 4 * taps * PANEL, channels, low, high, filled, 1)
                elif stride_w == 2:
                    move_even(at, 4 * plane, to, 4 * taps * PANEL, channels, low, high, filled, 2)
                else:
                    move_apart(at, 4 * plane, to, 4 * taps * PANEL, channels, low, high, filled, stride_w)
        done += run


@kernel("i i i i i i i i i i i i i i i i i i i i i i i i i i i i i i f f f f")
def convolve(
    multiply: Any, finish: Any, gather: Any, x: Any, channels: Any, height: Any, width: Any, weights: Any, kernel_h: Any,
    kernel_w: Any, stride_h: Any, stride_w: Any, step_h: Any, step_w: Any, top: Any, left: Any, out: Any, outputs: Any,
    out_height: Any, out_width: Any, bias: Any, rest: Any, before: Any, code: Any, group: Any, batch: Any, chunk: Any,
    depth: Any, panels: Any, ends: Any, low: Any, high: Any, p: Any, q: Any,
) -> Any:  # fmt: skip
    """activation(conv(x) + bias + rest) of (batch, channels·group, H, W); weights packed by `pack_pairs` per group.

    channels, outputs  of one group
    chunk, depth       output places and input channels gathered at a time: what stays in the second-level cache
    panels             room for them
    ends               whether bias, rest and activation need a pass of their own: bounds do not
    """
    plane, places, taps = height * width, out_height * out_width, kernel_h * kernel_w
    k = channels * taps
    pairs = (outputs + 2 * ROWS - 1) // (2 * ROWS)
    room = 4 * PANEL * depth * taps
    for t in range(batch * group):
        g = t % group
        target = out + 4 * t * outputs * places
        matrix = weights + 8 * g * pairs * ROWS * k
        for first in range(0, places, chunk):
            columns = min(chunk, places - first)
            for channel in range(0, channels, depth):
                some = min(depth, channels - channel)
                for j in range(0, columns, PANEL):
                    call_gather(
                        gather, x + 4 * (t * channels + channel) * plane, plane, some, height, width, kernel_h, kernel_w,
                        stride_h, stride_w, step_h, step_w, top, left, out_width, first + j, min(PANEL, columns - j),
                        panels + (j // PANEL) * room,
                    )  # fmt: skip
                last = channel + some == channels
                least, most = low, high
                if ends != 0 or not last:
                    least, most = -INFINITY, INFINITY
                for i in range(0, outputs, 2 * ROWS):
                    rows = min(2 * ROWS, outputs - i)
                    to = target + 4 * (i * places + first)
                    a = matrix + 4 * i * k + 8 * ROWS * channel * taps
                    shift = bias + 4 * (g * outputs + i) if bias != 0 else 0
                    other = rest + 4 * ((t * outputs + i) * places + first) if rest != 0 else 0
                    now = last and ends == 0
                    call_rows(
                        multiply, a, 4, 4 * ROWS, 8 * ROWS, panels, room, some * taps, to, 4 * places, rows, columns, channel,
                        a + 8 * ROWS * k, shift if now else 0, other if now else 0, 4 * places, least, most,
                    )  # fmt: skip
                    if last and ends != 0:
                        call_finish(
                            finish, to, 4 * places, to, 4 * places, rows, columns, shift, 4, 0, other, 4 * places, before, code,
                            p, q,
                        )  # fmt: skip
