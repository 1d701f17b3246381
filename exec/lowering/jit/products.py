"""Matrix products as compiled kernels: weights packed once, activations read where they lie."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from exec.arrays import Array
from exec.compiled import activation, gemm, packing
from exec.compiled.vectors import PANEL, ROWS
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.jit.addresses import address
from exec.lowering.jit.tail import Tail

PANELS_TO_TURN = 2
"""Panels of weights from which on turning A first pays."""


def product(b: Builder, out: Slot, x: Slot, weight: Array, tail: Tail, *, transposed: bool) -> None:
    """out (R, N) = activation(x (R, K) · weight + bias + rest); weight (K, N), or (N, K) if `transposed`."""
    panels = b.packs.get(
        weight, ("panels", transposed), lambda: packing.pack_columns(weight.T if transposed else weight)
    )
    rows, inner = x.shape
    turned = out.shape[1] > PANELS_TO_TURN * PANEL and rows >= ROWS and x.array.strides[1] == 4
    room = b.scratch((-(-rows // ROWS) * ROWS * inner if turned else 1,))
    b.emit(partial(_bind, tail, turned), out, x, b.constant(panels), room, *tail.slots, variant="compiled")


def _bind(tail: Tail, turned: bool, out: Array, x: Array, panels: Array, room: Array, *rest: Array) -> Step:
    rows, inner = x.shape
    columns = out.shape[1]
    bias, other = tail.addresses(rest)
    return partial(
        gemm.product.compiled, gemm.multiply_panel.address, activation.finish.address, gemm.turn_rows.address, address(x),
        x.strides[0], x.strides[1], address(panels), inner, address(out), out.strides[0], rows, columns, bias, other,
        4 * columns, tail.before, tail.code, tail.ends, address(room) if turned else 0, *tail.bounds, tail.p, tail.q,
    )  # fmt: skip


def batched(b: Builder, out: Slot, x: Slot, y: Slot) -> bool:
    """out[t] = x[t] · y[t] over one flattened leading axis; False where the strides of an operand do not allow it."""
    lead = out.shape[:-2]
    layouts = [_batches(np.broadcast_to(s.array, (*lead, *s.shape[-2:]))) for s in (out, x, y)]
    if any(layout is None for layout in layouts) or out.array.strides[-1] != 4:
        return False
    count = math.prod(out.shape[:-2])
    if any(math.prod(s.shape[:-2]) not in (1, count) for s in (x, y)):
        return False  # a partly broadcast operand does not walk along with the result
    inner = x.shape[-1]
    panel = b.scratch((inner * PANEL,))
    b.emit(_bind_batched, out, x, y, panel, variant="compiled")
    return True


def _batches(array: Array) -> tuple[int, int] | None:
    """(matrices, bytes between them) if the leading axes can be walked as one."""
    count, step = 1, 0
    for axis in range(array.ndim - 3, -1, -1):
        size, stride = array.shape[axis], array.strides[axis]
        if size == 1:
            continue
        if count == 1:
            count, step = size, stride
        elif stride == step * count:
            count *= size
        else:
            return None
    return count, step


def _bind_batched(out: Array, x: Array, y: Array, panel: Array) -> Step:
    lead = out.shape[:-2]
    spread = [np.broadcast_to(a, (*lead, *a.shape[-2:])) for a in (out, x, y)]
    (count, out_step), (_, x_step), (_, y_step) = (_batches(a) or (1, 0) for a in spread)
    return partial(
        gemm.batched.compiled, gemm.multiply_panel.address, gemm.pack_panel.address, address(x), x_step, x.strides[-2],
        x.strides[-1], address(y), y_step, y.strides[-2], y.strides[-1], address(out), out_step, out.strides[-2],
        out.shape[-2], out.shape[-1], x.shape[-1], count, address(panel), -math.inf, math.inf,
    )  # fmt: skip
