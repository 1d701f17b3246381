"""Pools as compiled kernels."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from exec.arrays import Array
from exec.compiled import pooling
from exec.compiled.vectors import LANES
from exec.kernels.nn.window import Window
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.jit.addresses import address
from exec.lowering.jit.convolution import flat_window, plane_layout


def pool(b: Builder, out: Slot, x: Slot, window: Window, scale: Array | None) -> bool:
    """Maximum, or with `scale` (per place) average; False for shapes the kernel does not do."""
    g = flat_window(window)
    if g is None or g.strides[1] > 2:
        return False
    source = b.copied(x)
    lines, pitch, phase = plane_layout(g)
    plane = b.scratch((lines * pitch + LANES,))
    factors = (
        () if scale is None else (b.constant(np.ascontiguousarray(np.broadcast_to(scale, g.out[-window.rank :]))),)
    )
    b.emit(partial(_pool, g, (pitch, lines, phase)), out, source, plane, *factors, variant="compiled")
    return True


def _pool(
    g: Window, layout: tuple[int, int, int], out: Array, x: Array, plane: Array, factors: Array | None = None
) -> Step:
    padding = -math.inf if factors is None else 0.0
    return partial(
        pooling.pool.compiled, address(x), x.shape[0] * x.shape[1], *g.size, *g.kernel, *g.strides, *g.dilations, *g.before,
        address(out), *g.out, 0 if factors is None else address(factors), address(plane), *layout, padding,
    )  # fmt: skip
