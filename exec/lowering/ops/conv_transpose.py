"""Transposed convolution: one product, then every tap's part goes where it belongs."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from exec.arrays import Array
from exec.kernels.nn.conv_transpose import full_size, transposed_window
from exec.kernels.nn.window import Window, inner, tap
from exec.lowering.buffers import reshaped
from exec.lowering.builder import Builder, Step
from exec.lowering.registry import lowering
from exec.lowering.units import Unit


@lowering("ConvTranspose")
def conv_transpose(b: Builder, unit: Unit) -> bool:
    x, w = b.input(unit.inputs[0]), b.units.constant(unit.inputs[1])
    bias = b.units.constant(unit.inputs[2]) if unit.input(2) >= 0 else None
    if w is None or x.dtype != np.float32 or x.size == 0 or (unit.input(2) >= 0 and bias is None):
        return False
    a = unit.attributes
    g = transposed_window(
        x.shape[2:], w.shape[2:], a.get("strides"), a.get("pads"), a.get("dilations"), a.get("auto_pad", "NOTSET"),
        a.get("output_padding"), a.get("output_shape"),
    )  # fmt: skip
    group = int(a.get("group", 1))
    n, places, each = x.shape[0], math.prod(x.shape[2:]), w.shape[1] * math.prod(w.shape[2:])
    weights = b.packs.get(
        w, ("transposed", group), lambda: np.ascontiguousarray(w.reshape(group, -1, each).transpose(0, 2, 1))
    )
    out = b.new(unit.outputs[0])
    flat = b.shaped(x, (n, group, x.shape[1] // group, places))
    parts = b.scratch((n, group, each, places))
    b.emit(_product, parts, b.constant(weights), flat)
    disjoint = all(k == s and d == 1 for k, s, d in zip(g.kernel, g.strides, g.dilations, strict=True))
    if disjoint and g.unpadded and g.size == tuple(k * o for k, o in zip(g.kernel, g.out, strict=True)):
        b.emit(partial(_interleaved, g, bias), out, parts)
    else:
        size = [max(f, n) for f, n in zip(full_size(g), g.needed, strict=True)]
        b.emit(partial(_scattered, g, bias), out, parts, b.scratch((n, out.shape[1], *size)))
    return True


def _product(parts: Array, weights: Array, x: Array) -> Step:
    return partial(np.matmul, weights, x, parts)


def _interleaved(g: Window, bias: Array | None, out: Array, parts: Array) -> Step:
    """Taps that never overlap only have to be put beside each other."""
    n, outputs, rank = out.shape[0], out.shape[1], g.rank
    source = parts.reshape(n, outputs, *g.kernel, *g.out)
    pairs = [length for o, k in zip(g.out, g.kernel, strict=True) for length in (o, k)]
    grid = reshaped(out, (n, outputs, *pairs))
    assert grid is not None
    order = (0, 1, *[2 + 2 * axis + 1 for axis in range(rank)], *[2 + 2 * axis for axis in range(rank)])
    target = grid.transpose(order)
    if bias is None:
        return partial(np.copyto, target, source)
    return partial(np.add, source, bias.reshape(-1, *[1] * (2 * rank)), target)


def _scattered(g: Window, bias: Array | None, out: Array, parts: Array, full: Array) -> list[Step]:
    n, outputs = out.shape[:2]
    source = parts.reshape(n, outputs, *g.kernel, *g.out)
    steps: list[Step] = [partial(full.fill, 0)]
    for index in np.ndindex(g.kernel):
        target = tap(full, g, index)
        steps.append(partial(np.add, target, source[(slice(None), slice(None), *index)], target))
    kept = inner(full, g.before, g.size)
    if bias is None:
        return [*steps, partial(np.copyto, out, kept)]
    return [*steps, partial(np.add, kept, bias.reshape(-1, *[1] * g.rank), out)]
