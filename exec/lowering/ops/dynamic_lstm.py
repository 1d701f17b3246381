"""LSTM on bytes: inputs and states are quantized by their own range, the sums are exact whole numbers in float32."""

from __future__ import annotations

from functools import partial

import numpy as np

from exec.arrays import Array
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
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
        layer = _Layer(time, batch, hidden, backward, w_scale[d], r_scale[d], names)
        gates = b.scratch((time * batch, 4 * hidden))
        b.emit(layer.bind, rows, b.constant(weights), b.constant(recurrent), b.constant(shift), gates, *slots)
    return True


def centred(values: Array, zero: Array) -> Array:
    """(inputs, outputs) minus their zero points, whole numbers in float32."""
    return np.ascontiguousarray(values.astype(np.float32) - zero.astype(np.float32))


class _Layer:
    """One direction, its memory bound once."""

    def __init__(
        self, time: int, batch: int, hidden: int, backward: bool, w_scale: Array, r_scale: Array, names: list[str]
    ) -> None:
        self.time, self.batch, self.hidden, self.names = time, batch, hidden, names
        self.order = range(time - 1, -1, -1) if backward else range(time)
        self.w_scale, self.r_scale = w_scale, r_scale

    def bind(self, x: Array, weights: Array, recurrent: Array, shift: Array, gates: Array, *rest: Array) -> Step:
        """The call of a run."""
        return partial(self.run, x, weights, recurrent, shift, gates, dict(zip(self.names, rest, strict=True)))

    def run(self, x: Array, weights: Array, recurrent: Array, shift: Array, gates: Array, at: dict[str, Array]) -> None:
        batch, hidden = self.batch, self.hidden
        np.matmul(*self._quantized(x, weights), out=gates)
        gates *= self.scale * self.w_scale
        gates += shift
        h = np.array(at["h0"]) if "h0" in at else np.zeros((batch, hidden), np.float32)
        cell = np.array(at["c0"]) if "c0" in at else np.zeros((batch, hidden), np.float32)
        now = np.empty((batch, 4 * hidden), np.float32)
        sigmoids, c = now[:, : 3 * hidden], now[:, 3 * hidden :]
        i, o, f = (now[:, k * hidden : (k + 1) * hidden] for k in range(3))
        one = np.float32(1)
        for step in self.order:
            np.matmul(*self._quantized(h, recurrent), out=now)
            now *= self.scale * self.r_scale
            now += gates[step * batch : (step + 1) * batch]
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

    def _quantized(self, values: Array, weights: Array) -> tuple[Array, Array]:
        """The values as centred bytes in float32, and the weights; `self.scale` is theirs."""
        zero, limit = np.float32(0), np.float32(255)
        low, high = min(values.min(), zero), max(values.max(), zero)
        self.scale = np.float32((high - low) / limit) or np.float32(1)
        point = np.float32(min(max(np.rint(-low / self.scale), zero), limit))
        q: Array = np.divide(values, self.scale)
        np.rint(q, q)
        clip_ufunc(q, -point, limit - point, q)
        return q, weights
