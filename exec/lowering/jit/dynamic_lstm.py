"""LSTM on bytes with compiled integer products: a quarter of the weights' bytes are read at every step."""

from __future__ import annotations

from functools import partial

import numpy as np

from exec.arrays import Array
from exec.compiled import integer, packing, recurrent
from exec.compiled.integer_tile import supported
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.jit.addresses import address
from exec.lowering.ops.quantized import signed_weights


class _Product:
    """Rows of float32, quantized by their own range, times signed bytes, scaled."""

    def __init__(self, b: Builder, source: Array, which: object, weights: Array, zero: Array, scale: Array) -> None:
        self.inner, self.columns = weights.shape
        signed, points = signed_weights(weights, zero, self.columns)
        self.packed: Array = b.packs.get(source, ("byte columns", which), lambda: packing.pack_byte_columns(signed))
        self.sums: Array = b.packs.get(source, ("column sums", which), lambda: signed.sum(axis=0, dtype=np.int32))
        self.points = points
        self.scale = np.broadcast_to(scale.reshape(-1), (self.columns,)).astype(np.float32)
        self.scales = np.empty(self.columns, np.float32)
        self.step, self.zero = np.empty((), np.float32), np.empty((), np.uint8)
        self.wide = self.columns + (points is not None)

    def bind(self, x: Array, out: Array) -> Step:
        """The call that computes out (rows, wide) from x (rows, inner)."""
        rows = x.shape[0]
        width = -(-self.inner // 4) * 4
        flat, room = x.reshape(-1), np.zeros((rows, width), np.uint8)
        target = room if width == self.inner else np.empty((rows, self.inner), np.uint8)
        quantize = partial(
            integer.quantize.compiled, address(x), address(target), x.size, address(self.zero), 0, address(self.step)
        )
        multiply = partial(
            integer.multiply_bytes.compiled, address(room), width, address(self.packed), self.packed.shape[1], address(out),
            out.strides[0], rows, self.columns, self.inner, address(self.zero), 0, address(self.sums),
            0 if self.points is None else address(self.points), address(self.scales), 0,
        )  # fmt: skip

        def call() -> None:
            low, high = min(flat.min(), np.float32(0)), max(flat.max(), np.float32(0))
            step = np.float32((high - low) / np.float32(255)) or np.float32(1)
            self.step[...] = step
            self.zero[...] = min(max(np.rint(-low / step), 0), 255)
            np.multiply(self.scale, step, self.scales)
            quantize()
            if target is not room:
                room[:, : self.inner] = target
            multiply()

        return call


def byte_layer(
    b: Builder, rows: Slot, sources: tuple[Array, Array], d: int, directed: tuple[Array, ...], shift: Array,
    sizes: tuple[int, int, int], backward: bool, names: list[str], slots: list[Slot],
) -> bool:  # fmt: skip
    """Emit one direction; False where the CPU lacks the instruction."""
    if not supported():
        return False
    w, w_zero, w_scale, r, r_zero, r_scale = directed
    inputs = _Product(b, sources[0], d, w, w_zero, w_scale)
    states = _Product(b, sources[1], d, r, r_zero, r_scale)
    time, batch, hidden = sizes
    if batch > 1 and states.wide != states.columns:
        return False  # the gates of a step would not lie together
    gates, now = b.scratch((time * batch, inputs.wide)), b.scratch((batch, states.wide))
    cell, h = b.scratch((batch, hidden)), b.scratch((batch, hidden))
    order = range(time - 1, -1, -1) if backward else range(time)
    table = np.asarray([batch, hidden], np.int64)

    def bind(x: Array, gates: Array, now: Array, cell: Array, h: Array, *rest: Array) -> Step:
        at = dict(zip(names, rest, strict=True))
        project, recur = inputs.bind(x, gates), states.bind(h, now)
        y = at.get("y")
        part = recurrent.cell_step.address
        own = gates[:, : inputs.columns]
        lines = np.empty((time, batch, inputs.columns), np.float32)
        steps = [
            partial(
                recurrent.add_and_step.compiled, address(now), address(lines[t]), part, address(cell), address(h),
                0 if y is None else address(y) + t * y.strides[0], address(table),
            )
            for t in order
        ]  # fmt: skip

        def run() -> None:
            project()
            np.add(own.reshape(lines.shape), shift, lines)
            h[...] = at.get("h0", 0)
            cell[...] = at.get("c0", 0)
            for step in steps:
                recur()
                step()
            if "y_h" in at:
                at["y_h"][...] = h
            if "y_c" in at:
                at["y_c"][...] = cell

        return run

    b.emit(bind, b.copied(rows), gates, now, cell, h, *slots, variant="compiled")
    return True
