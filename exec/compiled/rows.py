"""Softmax and normalisations: a row at a time, so that all passes but the first find it in the cache."""

from __future__ import annotations

import math
from typing import Any

from exec.compiled.toolchain import kernel
from exec.compiled.vectors import (
    LANES,
    add,
    exp,
    fill,
    fma,
    get,
    larger,
    largest,
    load,
    load_first,
    multiply,
    put,
    store_first,
    subtract,
    total,
)

INFINITY = math.inf


@kernel("i i i i")
def softmax(x: Any, out: Any, rows: Any, count: Any) -> Any:
    """exp(x − max) / Σ exp(x − max) of contiguous rows."""
    whole = count - count % LANES
    for r in range(rows):
        at, to = x + 4 * r * count, out + 4 * r * count
        high = fill(-INFINITY)
        for j in range(0, whole, LANES):
            high = larger(load_first(at + 4 * j, LANES), high)
        peak = largest(high)
        for j in range(whole, count):
            peak = max(peak, get(at + 4 * j))
        shift = fill(peak)
        sums = fill(0.0)
        for j in range(0, count, LANES):
            left = min(LANES, count - j)
            e = exp(subtract(load_first(at + 4 * j, left), shift))
            store_first(to + 4 * j, e, left)
            sums = add(sums, load_first(to + 4 * j, left))
        factor = fill(1.0 / total(sums))
        for j in range(0, count, LANES):
            left = min(LANES, count - j)
            store_first(to + 4 * j, multiply(load_first(to + 4 * j, left), factor), left)


@kernel("i i i i i i i f")
def normalize(
    x: Any, out: Any, scale: Any, bias: Any, rows: Any, count: Any, centred: Any, epsilon: Any
) -> Any:  # fmt: skip
    """(x − mean)/√(var + ε)·scale + bias of contiguous rows; not `centred`, the mean counts as 0.

    The variance is summed from differences: from squares it cancels where |mean| is large. bias may be 0.
    """
    for r in range(rows):
        at, to = x + 4 * r * count, out + 4 * r * count
        mean = fill(0.0)
        if centred != 0:
            sums = fill(0.0)
            for j in range(0, count, LANES):
                sums = add(sums, load_first(at + 4 * j, min(LANES, count - j)))
            mean = fill(total(sums) / count)
        squares = fill(0.0)
        for j in range(0, count, LANES):
            left = min(LANES, count - j)
            d = subtract(load_first(at + 4 * j, left), mean)
            store_first(to + 4 * j, d, left)
            d = load_first(to + 4 * j, left)  # lanes beyond the row are 0 − mean until they are read back
            squares = fma(d, d, squares)
        factor = fill(1.0 / math.sqrt(total(squares) / count + epsilon))
        for j in range(0, count, LANES):
            left = min(LANES, count - j)
            v = multiply(multiply(load_first(to + 4 * j, left), factor), load_first(scale + 4 * j, left))
            if bias != 0:
                v = add(v, load_first(bias + 4 * j, left))
            store_first(to + 4 * j, v, left)


@kernel("i i i i i i i i f")
def normalize_channels(
    x: Any, out: Any, scale: Any, bias: Any, rows: Any, groups: Any, inner: Any, count: Any, epsilon: Any
) -> Any:  # fmt: skip
    """(x − mean)/√(var + ε) of contiguous rows of `inner` runs of `count`; each run has a scale and a bias of its own.

    Row r takes those of group r modulo `groups`. The variance is summed from differences.
    """
    width = inner * count
    for r in range(rows):
        at, to = x + 4 * r * width, out + 4 * r * width
        sums = fill(0.0)
        for j in range(0, width, LANES):
            sums = add(sums, load_first(at + 4 * j, min(LANES, width - j)))
        mean = fill(total(sums) / width)
        squares = fill(0.0)
        for j in range(0, width, LANES):
            left = min(LANES, width - j)
            d = subtract(load_first(at + 4 * j, left), mean)
            store_first(to + 4 * j, d, left)
            d = load_first(to + 4 * j, left)  # lanes beyond the row are 0 − mean until they are read back
            squares = fma(d, d, squares)
        factor = 1.0 / math.sqrt(total(squares) / width + epsilon)
        for k in range(inner):
            channel = 4 * ((r % groups) * inner + k)
            multiplier, offset = fill(get(scale + channel) * factor), fill(get(bias + channel))
            part = to + 4 * k * count
            for j in range(0, count, LANES):
                left = min(LANES, count - j)
                store_first(part + 4 * j, fma(load_first(part + 4 * j, left), multiplier, offset), left)


@kernel("i i i i f")
def sum_rows(x: Any, out: Any, rows: Any, count: Any, factor: Any) -> Any:
    """factor · Σ of each contiguous row, in four partial sums per lane: rounding grows with the longest of them."""
    for r in range(rows):
        at = x + 4 * r * count
        a, b, c, d = fill(0.0), fill(0.0), fill(0.0), fill(0.0)
        whole = count - count % (4 * LANES)
        for j in range(0, whole, 4 * LANES):
            a = add(a, load(at + 4 * j))
            b = add(b, load(at + 4 * (j + LANES)))
            c = add(c, load(at + 4 * (j + 2 * LANES)))
            d = add(d, load(at + 4 * (j + 3 * LANES)))
        for j in range(whole, count, LANES):
            a = add(a, load_first(at + 4 * j, min(LANES, count - j)))
        put(out + 4 * r, total(add(add(a, b), add(c, d))) * factor)
