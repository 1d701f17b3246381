"""LSTM on bytes: inputs and states are quantized by their own range, the sums are exact whole numbers in float32."""

from __future__ import annotations

from functools import partial

import numpy as np

from exec.arrays import Array
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.ops.products import product
from exec.lowering.registry import lowering
from exec.lowering.ufuncs import clip_ufunc
from exec.lowering.units import Unit

EXACT = 1 << 24


@lowering("DynamicQuantizeLSTM", domain="com.microsoft")
def dynamic_quantize_lstm(b: Builder, unit: Unit) -> bool:
    a = unit.attributes
    x = b.input(unit.inputs[0])
    constants = [b.units.constant(n) if n >= 0 else None for n in unit.inputs]
    w, r, bias = constants[1], constants[2], constants[3]
    w_scale, w_zero, r_scale, r_zero = constants[8:12]
    if any(v is None for v in (w, r, w_scale, w_zero, r_scale, r_zero)) or x.dtype != np.float32 or x.size == 0:
        return False
    if any(unit.input(k) >= 0 for k in (4, 7)) or (unit.input(3) >= 0 and bias is None) or a.get("clip"):
        return False
    directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[a.get("direction", "forward")]
    usual = ("Sigmoid", "Tanh", "Tanh") * len(directions)
    if tuple(a.get("activations") or usual) != usual or a.get("input_forget"):
        return False
    assert w is not None and r is not None and w_scale is not None and w_zero is not None  # noqa: PT018
    assert r_scale is not None and r_zero is not None  # noqa: PT018
    time, batch, features = x.shape
    hidden = r.shape[1]
    rows = b.shaped(x, (time * batch, features))
    outputs = [b.new(n) if n >= 0 else None for n in [*unit.outputs, -1, -1][:3]]
    for d, backward in enumerate(directions):
        shift = np.zeros(4 * hidden, np.float32)
        if bias is not None:
            shift = bias[d, : 4 * hidden] + bias[d, 4 * hidden :]
        states = {"h0": unit.input(5), "c0": unit.input(6)}
        slots: list[Slot] = []
        names: list[str] = []
        for name, number in states.items():
            if number >= 0:
                slot = b.input(number)
                names.append(name)
                slots.append(slot.view(slot.array[d]))
        for name, made, index in (
            ("y", outputs[0], (slice(None), d)),
            ("y_h", outputs[1], (d,)),
            ("y_c", outputs[2], (d,)),
        ):
            if made is not None:
                names.append(name)
                slots.append(made.view(made.array[index]))
        if b.jit:
            from exec.lowering.jit.dynamic_lstm import byte_layer

            directed = (w[d], w_zero[d], w_scale[d], r[d], r_zero[d], r_scale[d])
            if byte_layer(b, rows, (w, r), d, directed, shift, (time, batch, hidden), backward, names, slots):
                continue
        weights = b.packs.get(w, ("centred", d), partial(centred, w[d], w_zero[d]))
        recurrent = b.packs.get(r, ("centred", d), partial(centred, r[d], r_zero[d]))
        if max(float(np.abs(m).sum(axis=0).max()) for m in (weights, recurrent)) * 255 >= EXACT:
            return False
        layer = _Layer(time, batch, hidden, backward, r_scale[d], names)
        gates, carried = b.scratch((time * batch, 4 * hidden)), b.scratch(rows.shape)
        scale = b.scratch(())
        b.emit(_quantize_rows, rows, carried, scale)
        product(b, gates, carried, weights, transposed=False)
        b.emit(partial(_scaled, w_scale[d]), gates, scale, b.constant(shift))
        stored = b.constant(b.packs.get(r, ("narrow", d), partial(narrow_rows, recurrent)) if batch == 1 else recurrent)
        room = b.scratch((min(4 * hidden, max(1, ROOM_BYTES // (4 * hidden))), hidden))
        b.emit(layer.bind, stored, gates, room, *slots)
    return True


def centred(values: Array, zero: Array) -> Array:
    """(inputs, outputs) minus their zero points, whole numbers in float32."""
    return np.ascontiguousarray(values.astype(np.float32) - zero.astype(np.float32))


ROOM_BYTES = 512 << 10
"""Weights widened at a time: they stay in the cache until they are multiplied."""

NEAR_BYTES = 1 << 20
"""Weights up to which float32 stays in the cache from one step to the next."""


def narrow_rows(weights: Array) -> Array:
    """Weights (K, N) as rows (N, K), in bytes where they fit and float32 would not stay in the cache.

    A step reads all of them once: what is read costs more than widening, and pushes out of the cache what the step needs besides.
    """
    turned = np.ascontiguousarray(weights.T)
    if turned.nbytes <= NEAR_BYTES or turned.size == 0 or np.abs(turned).max() > 127:
        return turned
    return turned.astype(np.int8)


def _quantize_rows(rows: Array, carried: Array, scale: Array) -> Step:
    def call() -> None:
        scale[...] = quantized(rows, carried)

    return call


def _scaled(w_scale: Array, gates: Array, scale: Array, shift: Array) -> list[Step]:
    factor = np.empty_like(w_scale)
    return [
        partial(np.multiply, scale, w_scale, factor), partial(np.multiply, gates, factor, gates),
        partial(np.add, gates, shift, gates),
    ]  # fmt: skip


def quantized(values: Array, out: Array) -> np.float32:
    """The values as centred bytes in float32, quantized by their own range; their scale."""
    zero, limit = np.float32(0), np.float32(255)
    low, high = min(np.minimum.reduce(values, None), zero), max(np.maximum.reduce(values, None), zero)
    scale = np.float32((high - low) / limit) or np.float32(1)
    point = np.float32(min(max(np.rint(-low / scale), zero), limit))
    np.divide(values, scale, out)
    np.rint(out, out)
    clip_ufunc(out, -point, limit - point, out)
    return scale


class _Layer:
    """One direction, its memory bound once."""

    def __init__(self, time: int, batch: int, hidden: int, backward: bool, r_scale: Array, names: list[str]) -> None:
        self.batch, self.hidden, self.names, self.r_scale = batch, hidden, names, r_scale
        self.order = range(time - 1, -1, -1) if backward else range(time)

    def bind(self, weights: Array, gates: Array, room: Array, *rest: Array) -> Step:
        """The call of a run."""
        return partial(self.run, weights, gates, room, dict(zip(self.names, rest, strict=True)))

    def products(self, weights: Array, room: Array, h: Array, now: Array) -> list[Step]:
        """The calls that compute now = h·weights; h and now (batch, …)."""
        if self.batch > 1:
            return [partial(np.matmul, h, weights, now)]
        if weights.dtype == np.float32:
            return [partial(np.matmul, weights, h[0], now[0])]
        steps: list[Step] = []
        for first in range(0, len(weights), len(room)):
            rows, target = weights[first : first + len(room)], now[0, first : first + len(room)]
            steps += [partial(np.copyto, room[: len(rows)], rows), partial(np.matmul, room[: len(rows)], h[0], target)]
        return steps

    def run(self, weights: Array, gates: Array, room: Array, at: dict[str, Array]) -> None:
        batch, hidden = self.batch, self.hidden
        h = np.array(at["h0"]) if "h0" in at else np.zeros((batch, hidden), np.float32)
        cell = np.array(at["c0"]) if "c0" in at else np.zeros((batch, hidden), np.float32)
        carried, now = np.empty_like(h), np.empty((batch, 4 * hidden), np.float32)
        products = self.products(weights, room, carried, now)
        sigmoids, c = now[:, : 3 * hidden], now[:, 3 * hidden :]
        i, o, f = (now[:, k * hidden : (k + 1) * hidden] for k in range(3))
        one = np.float32(1)
        for step in self.order:
            scale = quantized(h, carried)
            for multiply in products:
                multiply()
            np.multiply(now, scale * self.r_scale, now)
            np.add(now, gates[step * batch : (step + 1) * batch], now)
            np.negative(sigmoids, sigmoids)
            np.exp(sigmoids, sigmoids)
            np.add(sigmoids, one, sigmoids)
            np.reciprocal(sigmoids, sigmoids)
            np.tanh(c, c)
            np.multiply(i, c, c)
            np.multiply(f, cell, cell)
            np.add(cell, c, cell)
            np.multiply(o, np.tanh(cell), h)
            if "y" in at:
                at["y"][step] = h
        if "y_h" in at:
            at["y_h"][...] = h
        if "y_c" in at:
            at["y_c"][...] = cell
