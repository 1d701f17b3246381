"""Depthwise convolution: one plane at a time, copied once with its border, four rows of a vector's width computed together."""

from __future__ import annotations

from typing import Any

from exec.compiled.gemm import call_finish
from exec.compiled.moves import move_dense, move_even
from exec.compiled.toolchain import kernel
from exec.compiled.vectors import LANES, PANEL, broadcast, fill, fma, get, load, store_first


@kernel("i i i i i i i i i i i i i i i i i i i i i i i i i i i f f")
def depthwise(
    finish: Any, x: Any, channels: Any, height: Any, width: Any, weights: Any, each: Any, kernel_h: Any, kernel_w: Any,
    stride_h: Any, stride_w: Any, step_h: Any, step_w: Any, top: Any, left: Any, out: Any, out_height: Any, out_width: Any,
    bias: Any, rest: Any, before: Any, code: Any, batch: Any, plane: Any, pitch: Any, lines: Any, phase: Any, p: Any, q: Any,
) -> Any:  # fmt: skip
    """activation(conv(x) + bias + rest) of (batch, channels, H, W), `each` outputs per channel; stride_w 1 or 2.

    plane         room for `lines` lines of `pitch` floats: the padded channel, a line's even columns before its odd ones
    phase         floats between the even and the odd columns of a line
    """
    for t in range(0, lines * pitch, LANES):
        store_first(plane + 4 * t, fill(0.0), min(LANES, lines * pitch - t))
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
            for f in range(2):
                skip = (left - f + 1) // 2 if left > f else 0
                begin = 2 * skip + f - left
                total = (width - begin + 1) // 2
                for j in range(0, total, PANEL):
                    count = min(PANEL, total - j)
                    at, to = source + 4 * (begin + 2 * j), inside + 4 * (f * phase + skip + j)
                    move_even(at, 4 * width, to, 4 * pitch, height, 0, count, count, 2)
        for m in range(each):
            channel = (c % channels) * each + m
            shift = fill(0.0)
            if bias != 0:
                shift = fill(get(bias + 4 * channel))
            target = out + 4 * (c * each + m) * places
            w = weights + 4 * channel * taps
            apart = 4 * stride_h * pitch
            for row in range(0, out_height, 4):
                for column in range(0, out_width, LANES):
                    a0, a1, a2, a3 = shift, shift, shift, shift
                    for i in range(kernel_h):
                        line = plane + 4 * ((row * stride_h + i * step_h) * pitch + column)
                        for j in range(kernel_w):
                            offset = j * step_w
                            if stride_w == 2:
                                offset = (offset % 2) * phase + offset // 2
                            at = line + 4 * offset
                            tap = broadcast(w + 4 * (i * kernel_w + j))
                            a0 = fma(tap, load(at), a0)
                            a1 = fma(tap, load(at + apart), a1)
                            a2 = fma(tap, load(at + 2 * apart), a2)
                            a3 = fma(tap, load(at + 3 * apart), a3)
                    kept = min(LANES, out_width - column)
                    to = target + 4 * (row * out_width + column)
                    store_first(to, a0, kept)
                    if row + 1 < out_height:
                        store_first(to + 4 * out_width, a1, kept)
                    if row + 2 < out_height:
                        store_first(to + 8 * out_width, a2, kept)
                    if row + 3 < out_height:
                        store_first(to + 12 * out_width, a3, kept)
            if rest != 0 or code != 0:
                other = rest + 4 * (c * each + m) * places if rest != 0 else 0
                call_finish(finish, target, 0, target, 0, 1, places, 0, 0, 0, other, 0, before, code, p, q)
