"""MatMul and Gemm into the arena, the weight in the layout that is faster for the shape."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from exec.arrays import Array
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.registry import lowering
from exec.lowering.skinny import skinny
from exec.lowering.units import Unit, is_row

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def _on_integers(b: Builder, unit: Unit) -> bool:
    """A product that reads the bytes in front of its DequantizeLinear."""
    from exec.lowering.jit import integers
    from exec.lowering.jit.tail import tail_of

    found = unit.extra["integers"]
    x, out = b.input(unit.inputs[0]), b.new(unit.outputs[0])
    rows = math.prod(x.shape[:-1])
    bias = b.input(unit.inputs[2]) if unit.input(2) >= 0 else None
    tail = tail_of(b, unit, bias)
    if bias is not None and not is_row(bias.shape, out.shape[-1]):
        return False
    if not out.contiguous or tail.rest is not None or tail.code:
        return False
    zero = None if found.zero is None else b.constant(found.zero)
    flat, result = b.shaped(x, (rows, x.shape[-1])), out.view(out.array.reshape(rows, -1))
    turned = bool(unit.attributes.get("transB"))
    return integers.multiply(b, result, flat, zero, found.weights, found.zeros, found.scale, bias, transposed=turned)


@lowering("MatMul")
def matmul(b: Builder, unit: Unit) -> bool:
    if "integers" in unit.extra:
        return _on_integers(b, unit)
    x, y = b.input(unit.inputs[0]), b.input(unit.inputs[1])
    if x.dtype not in FLOATS or x.dtype != y.dtype or x.ndim < 2 or y.ndim < 2 or 0 in (*x.shape, *y.shape):
        return False
    if y.constant is not None and y.ndim == 2:
        return _by_weight(b, unit, x, y)
    out = b.new(unit.outputs[0])
    if b.jit and out.dtype == np.float32 and out.shape[-2] > 1 and out.shape[-1] >= NARROW:
        from exec.lowering.jit.products import batched

        if batched(b, out, x, y):
            return True
    b.emit(_product, out, x, y)
    return True


NARROW = 16
"""Columns below which packing a panel of them is lost."""


def _product(out: Array, x: Array, y: Array) -> Step:
    return partial(np.matmul, x, y, out)


def _by_weight(b: Builder, unit: Unit, x: Slot, w: Slot) -> bool:
    """Rows of x times one weight matrix: leading axes of x are rows."""
    rows = math.prod(x.shape[:-1])
    weight = w.constant
    assert weight is not None
    out = b.new(unit.outputs[0])
    flat = b.shaped(x, (rows, x.shape[-1]))
    result = out.view(out.array.reshape(rows, -1))
    return _weighted(b, unit, result, flat, weight, transposed=False)


def _weighted(b: Builder, unit: Unit, out: Slot, x: Slot, weight: Array, *, transposed: bool) -> bool:
    """The product, and behind it what fusion merged into the unit; False where that cannot be added here.

    One or two rows are left to BLAS: a register tile of them waits for its own sums.
    """
    if b.jit and out.dtype == np.float32 and (out.shape[0] > 2 or "epilogue" in unit.extra):
        from exec.lowering.jit import products, tail

        bias = b.input(unit.inputs[2]) if unit.input(2) >= 0 else None
        if bias is None or is_row(bias.shape, out.shape[1]):
            products.product(b, out, x, weight, tail.tail_of(b, unit, bias), transposed=transposed)
            return True
    if "epilogue" in unit.extra:
        return False
    product(b, out, x, weight, transposed=transposed)
    if unit.input(2) >= 0:
        b.emit(_add, out, b.input(unit.inputs[2]))
    return True


def product(b: Builder, out: Slot, x: Slot, weight: Array, *, transposed: bool) -> None:
    """out (R, N) = x (R, K) · weight (K, N), or weight (N, K) if `transposed`."""
    if skinny(b, out, x, weight, transposed=transposed):
        return
    straight = b.packs.get(
        weight, ("rows", transposed), lambda: np.ascontiguousarray(weight.T if transposed else weight)
    )
    b.emit(_product, out, x, b.constant(straight))


@lowering("Gemm")
def gemm(b: Builder, unit: Unit) -> bool:
    if "integers" in unit.extra:
        return _on_integers(b, unit)
    x, y = b.input(unit.inputs[0]), b.input(unit.inputs[1])
    a = unit.attributes
    alpha, beta = float(a.get("alpha", 1.0)), float(a.get("beta", 1.0))
    if x.dtype not in FLOATS or unit.opset < 7 or alpha != 1.0 or x.dtype != y.dtype or 0 in (*x.shape, *y.shape):
        return False
    extra = b.input(unit.inputs[2]) if unit.input(2) >= 0 else None
    if extra is not None and (beta != 1.0 or extra.dtype != x.dtype):
        return False
    if a.get("transA"):
        x = x.view(x.array.T)
    out = b.new(unit.outputs[0])
    if y.constant is not None and out.contiguous:
        return _weighted(b, unit, out, x, y.constant, transposed=bool(a.get("transB")))
    b.emit(_product, out, x, y.view(y.array.T) if a.get("transB") else y)
    if extra is not None:
        b.emit(_add, out, extra)
    return True


def _add(out: Array, extra: Array) -> Step:
    return partial(np.add, out, extra, out)
