"""Pools as running maxima and sums of shifted planes."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.kernels.nn.pool import counts
from exec.kernels.nn.window import Window, window
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.registry import lowering
from exec.lowering.taps import Planes, filling, lies_so, planes_of
from exec.lowering.units import Unit


@lowering("MaxPool", "AveragePool")
def pool(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    if x.dtype != np.float32 or any(n >= 0 for n in unit.outputs[1:]) or x.size == 0:
        return False
    a = unit.attributes
    g = window(
        x.shape[2:], a["kernel_shape"], a.get("strides"), a.get("pads"), a.get("dilations"),
        a.get("auto_pad", "NOTSET"), int(a.get("ceil_mode", 0)),
    )  # fmt: skip
    out = b.new(unit.outputs[0])
    if math.prod(g.out) == 0 or out.shape[2:] != g.out:
        return False
    largest = unit.op == "MaxPool"
    scale = None if largest else np.asarray(1 / counts(g, bool(a.get("count_include_pad", 0))), np.float32)
    ufunc = np.maximum if largest else np.add
    if b.jit and not _covers(g) and out.contiguous:
        from exec.lowering.jit.pools import pool as compiled

        if compiled(b, out, x, g, scale):
            return True
    if _covers(g):
        _reduced(b, x, out, g, ufunc, scale)
    else:
        _shifted(b, x, out, g, ufunc, -math.inf if largest else 0.0, scale)
    return True


def _covers(g: Window) -> bool:
    """One window that is the whole plane."""
    return g.unpadded and g.kernel == g.size and all(o == 1 for o in g.out)


def _reduced(b: Builder, x: Slot, out: Slot, g: Window, ufunc: Any, scale: Array | None) -> None:
    rows = b.shaped(x, (x.shape[0] * x.shape[1], math.prod(g.size)))
    b.emit(partial(_reduce_rows, ufunc, scale), out.view(out.array.reshape(-1)), rows)


def _reduce_rows(ufunc: Any, scale: Array | None, out: Array, rows: Array) -> list[Step]:
    steps: list[Step] = [partial(ufunc.reduce, rows, axis=1, out=out)]
    if scale is not None:
        steps.append(partial(np.multiply, out, scale.reshape(()), out))
    return steps


def _shifted(b: Builder, x: Slot, out: Slot, g: Window, ufunc: Any, fill: float, scale: Array | None) -> None:
    p = planes_of(g)
    if not p.dense:
        b.emit(partial(_strided, g, ufunc, fill, scale), out, x, _padded(b, x, g))
        return
    planes = x.shape[0] * x.shape[1]
    together = max(1, min(planes, BLOCK_BYTES // (4 * p.plane)))
    flat, result = b.shaped(x, (1, planes, *g.size)), out.view(out.array.reshape(1, planes, *g.out))
    ready = lies_so(flat, p)
    room = b.scratch((1 if ready else together * p.plane,), x.dtype)
    first, second = b.scratch((together * p.plane,), x.dtype), b.scratch((together * p.plane,), x.dtype)
    b.emit(partial(_blocks, p, ufunc, fill, scale, ready), result, flat, room, first, second)


BLOCK_BYTES = 128 << 10


def _blocks(
    p: Planes, ufunc: Any, fill: float, scale: Array | None, ready: bool, out: Array, x: Array, room: Array, first: Array, second: Array
) -> list[Step]:  # fmt: skip
    """Blocks of planes that stay in the cache: pad and split, fold, put in place."""
    together, steps = first.size // p.plane, []
    for low in range(0, x.shape[1], together):
        high = min(low + together, x.shape[1])
        if ready:
            flat = x[0, low:high].reshape(-1)
        else:
            steps += filling(p, room, x[:, low:high], fill, padded=low > 0)
            flat = room[: (high - low) * p.plane]
        steps += _folded(p, ufunc, scale, out[0, low:high], flat, first, second)
    return steps


def _folded(
    p: Planes, ufunc: Any, scale: Array | None, out: Array, x: Array, first: Array, second: Array
) -> list[Step]:
    """Fold the taps of the flat planes together, axis by axis where that is fewer passes.

    The planes are one long row: what is computed between them is junk, but a row of its own per plane would take four times as long.
    """
    g: Window = p.g
    steps: list[Step] = []
    source, spare, length = x, [first, second], x.size
    if math.prod(p.phases) == 1:
        pitches = [math.prod(p.size[k + 1 :]) for k in range(g.rank)]
        for axis in range(g.rank - 1, -1, -1):
            taps = [i * g.dilations[axis] * pitches[axis] for i in range(g.kernel[axis])]
            if len(taps) == 1:
                continue
            length -= taps[-1]
            steps += _passes(ufunc, source, taps, spare[0][:length], length)
            source = spare[0]
            spare.reverse()
    else:
        length -= max(p.offsets)
        steps += _passes(ufunc, x, list(p.offsets), first[:length], length)
        source = first
    strides = [source.itemsize * math.prod(p.size[k + 1 :]) for k in range(g.rank)]
    grid = np.lib.stride_tricks.as_strided(source, out.shape, (source.itemsize * p.plane, *strides))
    steps.append(partial(np.copyto, out, grid) if scale is None else partial(np.multiply, grid, scale, out))
    return steps


def _passes(ufunc: Any, source: Array, offsets: list[int], target: Array, length: int) -> list[Step]:
    parts = [source[offset : offset + length] for offset in offsets]
    if len(parts) == 1:
        return [partial(np.copyto, target, parts[0])]
    steps: list[Step] = [partial(ufunc, parts[0], parts[1], out=target)]
    return steps + [partial(ufunc, target, part, out=target) for part in parts[2:]]


def _padded(b: Builder, x: Slot, g: Window) -> Slot:
    grow = [max(0, n - s - a) for n, s, a in zip(g.needed, g.size, g.before, strict=True)]
    shape = [a + s + e for a, s, e in zip(g.before, g.size, grow, strict=True)]
    return b.scratch((*x.shape[:2], *shape), x.dtype)


def _strided(g: Window, ufunc: Any, fill: float, scale: Array | None, out: Array, x: Array, room: Array) -> list[Step]:
    """Windows that hardly overlap: one pass per tap over strided views."""
    inside: list[Any] = [slice(a, a + s) for a, s in zip(g.before, g.size, strict=True)]
    steps: list[Step] = [partial(room.fill, fill), partial(np.copyto, room[(..., *inside)], x)]
    parts = []
    for index in np.ndindex(g.kernel):
        where: list[Any] = [
            slice(i * d, i * d + (o - 1) * s + 1, s)
            for i, d, o, s in zip(index, g.dilations, g.out, g.strides, strict=True)
        ]
        parts.append(room[(..., *where)])
    if len(parts) == 1:
        steps.append(partial(np.copyto, out, parts[0]))
    else:
        steps.append(partial(ufunc, parts[0], parts[1], out=out))
        steps += [partial(ufunc, out, part, out=out) for part in parts[2:]]
    if scale is not None:
        steps.append(partial(np.multiply, out, scale, out))
    return steps
