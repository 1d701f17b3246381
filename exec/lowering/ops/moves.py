"""Ops that copy elements to other places: Gather, Resize, Pad, Tile, DepthToSpace."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.tensor.resize import resize as resize_kernel
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.registry import lowering
from exec.lowering.units import Unit


@lowering("Gather")
def gather(b: Builder, unit: Unit) -> bool:
    x, indices = b.input(unit.inputs[0]), b.units.constant(unit.inputs[1])
    if x.size == 0:
        return False
    axis = int(unit.attributes.get("axis", 0)) % x.ndim
    size = x.shape[axis]
    if indices is None:
        given, room = b.input(unit.inputs[1]), b.new(unit.outputs[0])
        if given.size == 0 or not room.contiguous:
            return False
        b.emit(partial(_looked_up, axis), room, x, given)
        return True
    if indices.size and (indices.min() < -size or indices.max() >= size):
        return False  # the kernel says what is wrong
    lead: list[Any] = [slice(None)] * axis
    if indices.ndim == 0 and x.constant is None:
        b.alias(unit.outputs[0], x, x.array[(*lead, int(indices) % size)])
        return True
    wrapped = (indices % size).astype(np.intp)
    out = b.new(unit.outputs[0])
    if not out.contiguous:
        return False
    b.emit(partial(_taken, wrapped, axis), out, x)
    return True


def _looked_up(axis: int, out: Array, x: Array, indices: Array) -> Step:
    return partial(_take, x, indices, axis, out)


def _take(x: Array, indices: Array, axis: int, out: Array) -> None:
    """Negative indices count from the end; "clip" is numpy's only mode that needs no buffer, so bounds are checked here."""
    size = x.shape[axis]
    ends = indices.ravel().tolist() if indices.size <= FEW else (int(indices.min()), int(indices.max()))
    low, high = min(ends), max(ends)
    if low < -size or high >= size:
        raise ExecutionError(f"Gather reads index {low if low < -size else high} of an axis of {size}")
    x.take(indices if low >= 0 else indices % size, axis, out, "clip")


FEW = 16
"""Numbers up to which Python finds the least and the largest sooner than numpy does."""


def _taken(indices: Array, axis: int, out: Array, x: Array) -> Step:
    return partial(np.take, x, indices, axis, out, "clip")


@lowering("Resize", "Upsample")
def resize(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    spec = b.units.specs[unit.outputs[0]]
    if x.dtype != np.float32 or x.size == 0 or len(spec.shape) != 4 or x.shape[:2] != spec.shape[:2]:
        return False
    mode = str(unit.attributes.get("mode", "nearest"))
    if unit.op == "Upsample" or unit.opset < 11:
        transform, rounding = "asymmetric", "floor"
    else:
        transform = str(unit.attributes.get("coordinate_transformation_mode", "half_pixel"))
        rounding = str(unit.attributes.get("nearest_mode", "round_prefer_floor"))
    if transform == "tf_crop_and_resize":
        return False
    factors = [o // i for o, i in zip(spec.shape[2:], x.shape[2:], strict=True)]
    exact = all(f * i == o for f, i, o in zip(factors, x.shape[2:], spec.shape[2:], strict=True))
    if mode == "nearest" and exact and _repeats(transform, rounding) and _scales_agree(b, unit, factors):
        b.emit(partial(_repeated, factors), b.new(unit.outputs[0]), x)
        return True
    if mode in ("linear", "cubic") and unit.opset >= 11:
        matrices = _matrices(b, unit, x, spec.shape)
        if matrices is not None:
            _interpolated(b, unit, x, matrices)
            return True
    return False


def _repeats(transform: str, rounding: str) -> bool:
    """Whether nearest-neighbour sampling by a whole factor just repeats each element."""
    if transform == "asymmetric":
        return rounding == "floor"
    return transform in ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric") and rounding.startswith("round")


def _scales_agree(b: Builder, unit: Unit, factors: list[int]) -> bool:
    """A scale given as such must be the ratio of the sizes, or the samples lie elsewhere."""
    position = 1 if unit.op == "Upsample" or unit.opset < 11 else 2
    if unit.input(position) < 0:
        return True
    scales = b.units.constant(unit.inputs[position])
    if scales is None:
        return False
    return scales.size == 0 or scales.ravel()[-2:].tolist() == [float(f) for f in factors]


def _repeated(factors: list[int], out: Array, x: Array) -> Step:
    n, channels, height, width = x.shape
    grid = out.reshape(n, channels, height, factors[0], width, factors[1])
    return partial(np.copyto, grid, x[:, :, :, None, :, None])


MOST_MATRIX = 1 << 16


def _matrices(b: Builder, unit: Unit, x: Slot, shape: tuple[int, ...]) -> list[Array | None] | None:
    """Interpolation is linear and separable: its matrix along an axis is what it makes of the identity."""
    given = [b.units.constant(n) if n >= 0 else None for n in unit.inputs[1:4]]
    if any(n >= 0 and v is None for n, v in zip(unit.inputs[1:4], given, strict=True)):
        return None
    known = {k: v for k, v in unit.attributes.items() if k in _RESIZE_ATTRIBUTES}
    if known.get("axes") is not None or known.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        return None
    _, scales, sizes = (*given, None, None, None)[:3]
    matrices: list[Array | None] = []
    for axis in (2, 3):
        before, after = x.shape[axis], shape[axis]
        if before * after > MOST_MATRIX:
            return None
        if before == after and (scales is None or scales.size == 0 or float(scales[axis]) == 1.0):
            matrices.append(None)
            continue
        identity = np.eye(before, dtype=np.float32).reshape(1, before, before, 1)
        # Axis 2 of the probe plays the part of `axis`; axis 1 counts the unit vectors.
        if sizes is not None and sizes.size:
            probe = resize_kernel(identity, None, None, np.asarray([1, before, after, 1], np.int64), **known)
        else:
            assert scales is not None
            probe = resize_kernel(identity, None, np.asarray([1, 1, scales[axis], 1], np.float32), None, **known)
        matrices.append(np.ascontiguousarray(probe[0, :, :, 0].T))
    return matrices


_RESIZE_ATTRIBUTES = frozenset(
    ("antialias", "axes", "coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside",
     "keep_aspect_ratio_policy", "mode", "nearest_mode")
)  # fmt: skip


def _interpolated(b: Builder, unit: Unit, x: Slot, matrices: list[Array | None]) -> None:
    """Rows first, then columns; each axis one product."""
    rows, columns = matrices
    out = b.new(unit.outputs[0])
    middle = x
    if rows is not None:
        middle = out if columns is None else b.scratch((*x.shape[:2], rows.shape[0], x.shape[3]))
        b.emit(_from_left, middle, x, b.constant(rows))
    if columns is not None:
        b.emit(_from_right, out, middle, b.constant(np.ascontiguousarray(columns.T)))
    if rows is None and columns is None:
        b.emit(_same, out, x)


def _from_left(out: Array, x: Array, matrix: Array) -> Step:
    return partial(np.matmul, matrix, x, out)


def _from_right(out: Array, x: Array, matrix: Array) -> Step:
    if x.flags.c_contiguous and out.flags.c_contiguous:
        return partial(np.matmul, x.reshape(-1, x.shape[-1]), matrix, out.reshape(-1, out.shape[-1]))
    return partial(np.matmul, x, matrix, out)


def _same(out: Array, x: Array) -> Step:
    return partial(np.copyto, out, x)


@lowering("Pad")
def pad(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    mode = str(unit.attributes.get("mode", "constant"))
    pads, value = _pads(b, unit, x.ndim)
    if pads is None or min(pads, default=0) < 0 or mode not in ("constant", "reflect", "edge") or x.size == 0:
        return False
    before, after = pads[: x.ndim], pads[x.ndim :]
    if mode == "reflect" and any(max(p, q) >= n for p, q, n in zip(before, after, x.shape, strict=True) if p or q):
        return False
    out = b.new(unit.outputs[0])
    b.emit(partial(_padded, mode, before, value), out, x)
    return True


def _pads(b: Builder, unit: Unit, rank: int) -> tuple[list[int] | None, Any]:
    """(pads for every axis, the value), where both are known."""
    if unit.opset < 11:
        given = unit.attributes.get("pads", unit.attributes.get("paddings"))
        return (None if given is None else list(given)), float(unit.attributes.get("value", 0.0))
    pads = b.units.constant(unit.inputs[1])
    value: Any = 0
    if unit.input(2) >= 0:
        constant = b.units.constant(unit.inputs[2])
        if constant is None:
            return None, 0
        value = constant.reshape(()) if constant.size == 1 else 0
    if pads is None:
        return None, value
    amounts = pads.tolist()
    if unit.input(3) >= 0:
        axes = b.units.constant(unit.inputs[3])
        if axes is None:
            return None, value
        full = [0] * (2 * rank)
        for k, axis in enumerate(axes.tolist()):
            full[axis % rank], full[axis % rank + rank] = amounts[k], amounts[k + axes.size]
        amounts = full
    return amounts, value


def _padded(mode: str, before: list[int], value: Any, out: Array, x: Array) -> list[Step]:
    inside: list[Any] = [slice(p, p + n) for p, n in zip(before, x.shape, strict=True)]
    middle = partial(np.copyto, out[tuple(inside)], x)
    if mode == "constant":
        return [partial(out.fill, value), middle]
    steps: list[Step] = [middle]
    for axis, (p, n) in enumerate(zip(before, x.shape, strict=True)):
        q = out.shape[axis] - p - n
        # Axes before this one are filled already, those after it are still only their middle.
        lead: list[Any] = [slice(None)] * axis
        rest = inside[axis + 1 :]
        for count, target, near in ((p, slice(0, p), p), (q, slice(p + n, None), p + n - 1)):
            if not count:
                continue
            if mode == "edge":
                source: Any = slice(near, near + 1)
            elif near == p:
                source = slice(p + count, p, -1)
            else:
                source = slice(near - 1, near - 1 - count if near - 1 - count >= 0 else None, -1)
            steps.append(partial(np.copyto, out[(*lead, target, *rest)], out[(*lead, source, *rest)]))
    return steps


@lowering("DepthToSpace")
def depth_to_space(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    if x.ndim != 4 or x.constant is not None:
        return False
    size = int(unit.attributes["blocksize"])
    n, channels, height, width = x.shape
    kept = channels // (size * size)
    if str(unit.attributes.get("mode", "DCR")) == "DCR":
        blocks, order = b.shaped(x, (n, size, size, kept, height, width)), (0, 3, 4, 1, 5, 2)
    else:
        blocks, order = b.shaped(x, (n, kept, size, size, height, width)), (0, 1, 4, 2, 5, 3)
    out = b.new(unit.outputs[0])
    turned = blocks.view(blocks.array.transpose(order))
    b.emit(_same, out.view(out.array.reshape(turned.shape)), turned)
    return True


@lowering("SpaceToDepth")
def space_to_depth(b: Builder, unit: Unit) -> bool:
    x, size = b.input(unit.inputs[0]), int(unit.attributes["blocksize"])
    if x.ndim != 4 or x.constant is not None or x.size == 0:
        return False
    n, channels, height, width = x.shape
    blocks = b.shaped(x, (n, channels, height // size, size, width // size, size))
    order = (0, 3, 5, 1, 2, 4) if str(unit.attributes.get("mode", "DCR")) == "DCR" else (0, 1, 3, 5, 2, 4)
    turned = blocks.view(blocks.array.transpose(order))
    out = b.new(unit.outputs[0])
    b.emit(_same, out.view(out.array.reshape(turned.shape)), turned)
    return True


@lowering("Tile")
def tile(b: Builder, unit: Unit) -> bool:
    x = b.input(unit.inputs[0])
    repeats = b.units.constant(unit.inputs[1]) if unit.opset >= 6 else None
    if repeats is None or x.size == 0 or math.prod(repeats.tolist()) == 0:
        return False
    out = b.new(unit.outputs[0])
    pairs = [length for r, n in zip(repeats.tolist(), x.shape, strict=True) for length in (r, n)]
    spread = x.array[tuple(index for _ in x.shape for index in (None, slice(None)))]
    b.emit(_same, out.view(out.array.reshape(pairs)), x.view(spread))
    return True


@lowering("LookUp", domain="owb")
def look_up(b: Builder, unit: Unit) -> bool:
    """Rows of a matrix by number; a number without a row gives zeros."""
    index, weights = b.input(unit.inputs[0]), b.units.constant(unit.inputs[1])
    assert weights is not None
    table = b.packs.get(weights, "and a row of zeros", lambda: np.vstack([weights, np.zeros_like(weights[:1])]))
    out = b.new(unit.outputs[0])
    rows = b.shaped(b.copied(index), (-1,))
    b.emit(
        _rows_or_zeros,
        out.view(out.array.reshape(-1, weights.shape[1])),
        rows,
        b.constant(table),
        b.scratch((rows.size,), np.uint64),
    )
    return True


def _rows_or_zeros(out: Array, index: Array, table: Array, row: Array) -> list[Step]:
    unsigned = index.view(np.dtype(f"u{index.itemsize}"))  # what is negative is beyond the last row, too
    last = unsigned.dtype.type(len(table) - 1)
    return [
        partial(np.minimum, unsigned, last, out=row),
        partial(np.take, table, row.view(np.int64), axis=0, out=out, mode="clip"),
    ]
