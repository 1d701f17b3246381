"""Maximum and average pools: a padded plane at a time, four rows of a vector's width together."""

from __future__ import annotations

import math
from typing import Any

from exec.compiled.moves import move_dense, move_even
from exec.compiled.toolchain import kernel
from exec.compiled.vectors import LANES, PANEL, add, fill, larger, load, load_first, multiply, store_first

INFINITY = math.inf


@kernel("i i i i i i i i i i i i i i i i i i i i f")
def pool(
    x: Any, planes: Any, height: Any, width: Any, kernel_h: Any, kernel_w: Any, stride_h: Any, stride_w: Any, step_h: Any,
    step_w: Any, top: Any, left: Any, out: Any, out_height: Any, out_width: Any, factors: Any, plane: Any, pitch: Any,
    lines: Any, phase: Any, padding: Any,
) -> Any:  # fmt: skip
    """The maximum of each window (factors 0), or its sum times a factor per place; stride_w 1 or 2.

    plane, pitch, lines, phase  as for a depthwise convolution; padding, what the border holds
    """
    for t in range(0, lines * pitch, LANES):
        store_first(plane + 4 * t, fill(padding), min(LANES, lines * pitch - t))
    places = out_height * out_width
    for c in range(planes):
        source = x + 4 * c * height * width
        inside = plane + 4 * top * pitch
        if stride_w == 1:
            for j in range(0, width, PANEL):
                count = min(PANEL, width - j)
                move_dense(source + 4 * j, 4 * width, inside + 4 * (left + j), 4 * pitch, height, 0, count, count, 1)
        else:
            for f in range(2):
                skip = (left - f + 1) // 2 if left > f else 0
                begin = 2 * skip + f - left
                whole = (width - begin + 1) // 2
                for j in range(0, whole, PANEL):
                    count = min(PANEL, whole - j)
                    at, to = source + 4 * (begin + 2 * j), inside + 4 * (f * phase + skip + j)
                    move_even(at, 4 * width, to, 4 * pitch, height, 0, count, count, 2)
        target = out + 4 * c * places
        apart = 4 * stride_h * pitch
        for row in range(0, out_height, 4):
            for column in range(0, out_width, LANES):
                first = fill(-INFINITY if factors == 0 else 0.0)
                a0, a1, a2, a3 = first, first, first, first
                for i in range(kernel_h):
                    line = plane + 4 * ((row * stride_h + i * step_h) * pitch + column)
                    for j in range(kernel_w):
                        offset = j * step_w
                        if stride_w == 2:
                            offset = (offset % 2) * phase + offset // 2
                        at = line + 4 * offset
                        if factors == 0:
                            a0, a1 = larger(a0, load(at)), larger(a1, load(at + apart))
                            a2, a3 = larger(a2, load(at + 2 * apart)), larger(a3, load(at + 3 * apart))
                        else:
                            a0, a1 = add(a0, load(at)), add(a1, load(at + apart))
                            a2, a3 = add(a2, load(at + 2 * apart)), add(a3, load(at + 3 * apart))
                kept = min(LANES, out_width - column)
                place = row * out_width + column
                for r in range(min(4, out_height - row)):
                    v = a0
                    if r == 1:
                        v = a1
                    elif r == 2:
                        v = a2
                    elif r == 3:
                        v = a3
                    if factors != 0:
                        v = multiply(v, load_first(factors + 4 * (place + r * out_width), kept))
                    store_first(target + 4 * (place + r * out_width), v, kept)
