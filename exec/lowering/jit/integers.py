"""Products of bytes as compiled kernels, where the CPU multiplies and adds four of them at once."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from exec.arrays import Array
from exec.compiled import activation, integer, packing
from exec.compiled.integer_tile import supported
from exec.compiled.toolchain import Kernel
from exec.compiled.vectors import PANEL, ROWS
from exec.kernels.nn.window import Window
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.jit.addresses import address
from exec.lowering.jit.convolution import CACHE_BYTES, flat_window
from exec.lowering.jit.tail import Tail
from exec.lowering.ops.quantized import signed_weights

NO_TAIL = Tail(None, None, 1, 0, 0.0, 0.0)


def quantize(b: Builder, out: Slot, x: Slot, scale: Slot, zero: Slot | None) -> None:
    """out = saturate(round(x / scale) + zero) for one scale."""
    b.emit(partial(_convert, integer.quantize), out, x, scale, *(() if zero is None else (zero,)), variant="compiled")


def dequantize(b: Builder, out: Slot, x: Slot, scale: Slot, zero: Slot | None) -> None:
    """out = (x − zero) · scale for one scale."""
    b.emit(partial(_convert, integer.dequantize), out, x, scale, *(() if zero is None else (zero,)), variant="compiled")


def _convert(kernel: Kernel, out: Array, x: Array, scale: Array, zero: Array | None = None) -> Step:
    signed = int(np.int8 in (out.dtype, x.dtype))
    return partial(
        kernel.compiled, address(x), address(out), x.size, 0 if zero is None else address(zero), signed, address(scale)
    )


def convolve(
    b: Builder, out: Slot, x: Slot, zero: Slot | None, weights: Array, zeros: Array | None, window: Window, group: int,
    scale: Array | None = None, tail: Tail = NO_TAIL,
) -> bool:  # fmt: skip
    """out = Σ (x − zero)·(w − zeros), in int32, or with `scale` (per output) in float32; False where there is no kernel."""
    g = flat_window(window)
    if g is None or g.strides[1] > 2 or not supported() or (group > 1 and weights.shape[1] < 4):
        return False
    signed, points = signed_weights(weights, zeros, weights.shape[0])
    packed = b.packs.get(weights, ("bytes", group), lambda: packing.pack_byte_pairs(signed, group))
    sums = b.packs.get(weights, "sums", lambda: signed.reshape(len(signed), -1).sum(axis=1, dtype=np.int32))
    steps = packed.shape[2]
    panels = max(1, min(-(-math.prod(g.out) // PANEL), CACHE_BYTES // (4 * PANEL * steps)))
    room = b.scratch((panels * PANEL * steps * 4,), np.uint8)
    lines = b.scratch((2 * ROWS + 1, panels * PANEL), np.int32)
    optional = [("zero", zero), ("points", None if points is None else b.constant(points))]
    optional += [("scale", None if scale is None else b.constant(scale)), ("bias", tail.bias), ("rest", tail.rest)]
    names = [name for name, slot in optional if slot is not None]
    slots = [slot for _, slot in optional if slot is not None]
    bind = partial(_convolve, g, group, weights.shape[1], panels * PANEL, names, tail)
    b.emit(bind, out, b.copied(x), b.constant(packed), b.constant(sums), room, lines, *slots, variant="compiled")
    return True


def _convolve(
    g: Window, group: int, channels: int, chunk: int, names: list[str], tail: Tail, out: Array, x: Array, packed: Array,
    sums: Array, room: Array, lines: Array, *rest: Array,
) -> Step:  # fmt: skip
    at = {name: address(array) for name, array in zip(names, rest, strict=True)}
    height, width = g.size
    out_height, out_width = g.out
    if g.pointwise:
        height, width, out_height, out_width = 1, height * width, 1, out_height * out_width
    return partial(
        integer.convolve_bytes.compiled, integer.multiply_byte_rows.address, activation.finish.address,
        integer.gather_bytes.address, address(x), channels, height, width, address(packed), *g.kernel, *g.strides,
        *g.dilations, *g.before, address(out), out.shape[1] // group, out_height, out_width, group, x.shape[0], chunk,
        address(room), address(lines), at.get("zero", 0), 128 if x.dtype == np.int8 else 0, address(sums),
        at.get("points", 0), at.get("scale", 0), at.get("bias", 0), at.get("rest", 0), tail.before, tail.code, tail.p, tail.q,
    )  # fmt: skip


def multiply(
    b: Builder, out: Slot, x: Slot, zero: Slot | None, weights: Array, zeros: Array | None, scale: Array | None = None,
    bias: Slot | None = None, *, transposed: bool = False,
) -> bool:  # fmt: skip
    """out (R, N) = Σ (x − zero)·(w − zeros), in int32, or with `scale` (per column) in float32."""
    if not supported():
        return False
    columns = out.shape[1]
    signed, points = signed_weights(weights.T if transposed else weights, zeros, columns)
    packed = b.packs.get(weights, ("byte columns", transposed), lambda: packing.pack_byte_columns(signed))
    sums = b.packs.get(weights, ("column sums", transposed), lambda: signed.sum(axis=0, dtype=np.int32))
    rows, inner = x.shape
    wide = columns + (points is not None)
    flip = 128 if x.dtype == np.int8 else 0
    padded = b.scratch((rows, -(-inner // 4) * 4), np.uint8)
    result = out if wide == columns else b.scratch((rows, wide), out.dtype)
    optional = [("zero", zero), ("points", None if points is None else b.constant(points))]
    optional += [("scale", None if scale is None else b.constant(scale)), ("bias", bias)]
    names = [name for name, slot in optional if slot is not None]
    slots = [slot for _, slot in optional if slot is not None]
    bind = partial(_multiply, inner, columns, flip, names)
    b.emit(bind, result, x, b.constant(packed), b.constant(sums), padded, *slots, variant="compiled")
    if result is not out:
        b.copy(out, result.view(result.array[:, :columns]))
    return True


def _multiply(
    inner: int, columns: int, flip: int, names: list[str], out: Array, x: Array, packed: Array, sums: Array, padded: Array,
    *rest: Array,
) -> list[Step]:  # fmt: skip
    at = {name: address(array) for name, array in zip(names, rest, strict=True)}
    steps: list[Step] = []
    source = x
    if flip or inner % 4 or x.strides[1] != 1:
        source = padded
        steps.append(partial(np.bitwise_xor, x.view(np.uint8), np.uint8(flip), padded[:, :inner]))
    steps.append(
        partial(
            integer.multiply_bytes.compiled, address(source), source.strides[0], address(packed), packed.shape[1],
            address(out), out.strides[0], x.shape[0], columns, inner, at.get("zero", 0), flip, address(sums),
            at.get("points", 0), at.get("scale", 0), at.get("bias", 0),
        )
    )  # fmt: skip
    return steps
