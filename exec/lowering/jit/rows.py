"""Softmax and normalisations as compiled kernels."""

from __future__ import annotations

from functools import partial

from exec.arrays import Array
from exec.compiled import rows
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.jit.addresses import address


def softmax(b: Builder, out: Slot, x: Slot) -> None:
    """Softmax of contiguous rows, the last axis."""
    b.emit(_softmax, out, x, variant="compiled")


def _softmax(out: Array, x: Array) -> Step:
    count = x.shape[-1]
    return partial(rows.softmax.compiled, address(x), address(out), x.size // count, count)


def sum_rows(b: Builder, out: Slot, x: Slot, factor: float) -> None:
    """out (rows) = factor · Σ of each row of x (rows, count)."""
    b.emit(partial(_sum_rows, factor), out, x, variant="compiled")


def _sum_rows(factor: float, out: Array, x: Array) -> Step:
    return partial(rows.sum_rows.compiled, address(x), address(out), x.shape[0], x.shape[1], factor)


def normalize(b: Builder, out: Slot, x: Slot, scale: Slot, bias: Slot | None, epsilon: float, *, centred: bool) -> None:
    """(x − mean)/√(var + ε)·scale + bias of contiguous rows (R, count)."""
    slots = (scale,) if bias is None else (scale, bias)
    b.emit(partial(_normalize, epsilon, centred), out, x, *slots, variant="compiled")


def _normalize(epsilon: float, centred: bool, out: Array, x: Array, scale: Array, bias: Array | None = None) -> Step:
    return partial(
        rows.normalize.compiled, address(x), address(out), address(scale), 0 if bias is None else address(bias), x.shape[0],
        x.shape[1], int(centred), epsilon,
    )  # fmt: skip


def normalize_channels(b: Builder, out: Slot, x: Slot, scale: Slot, bias: Slot, epsilon: float) -> None:
    """Each (sample, group) of contiguous x (N, G, inner, count) on its own; scale and bias (G, inner, 1)."""
    b.emit(partial(_normalize_channels, epsilon), out, x, scale, bias, variant="compiled")


def _normalize_channels(epsilon: float, out: Array, x: Array, scale: Array, bias: Array) -> Step:
    samples, groups, inner, count = x.shape
    return partial(
        rows.normalize_channels.compiled, address(x), address(out), address(scale), address(bias), samples * groups, groups,
        inner, count, epsilon,
    )  # fmt: skip
