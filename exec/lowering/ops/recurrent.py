"""LSTM and GRU of the usual activations, every call of every time step bound beforehand."""

from __future__ import annotations

from functools import partial

import numpy as np

from exec.arrays import Array
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.registry import lowering
from exec.lowering.units import Unit

MOST_STEPS = 4096
"""Time steps up to which their calls are bound one by one."""

USUAL = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh")}


@lowering("LSTM")
def lstm(b: Builder, unit: Unit) -> bool:
    """Gates i, o, f, c; the first three are scaled by ½ so that one tanh serves all four: σ(x) = ½·tanh(x/2) + ½."""
    given = _usual(b, unit)
    if given is None:
        return False
    x, w, r, directions = given
    time, batch, _ = x.shape
    hidden = r.shape[2]
    bias = b.units.constant(unit.inputs[3]) if unit.input(3) >= 0 else None
    if (unit.input(3) >= 0 and bias is None) or any(unit.input(k) >= 0 for k in (4, 7)):
        return False
    states = [b.input(unit.inputs[k]) if unit.input(k) >= 0 else None for k in (5, 6)]
    half = np.repeat(np.asarray([0.5, 0.5, 0.5, 1.0], np.float32), hidden)
    y, y_h, y_c = (_output(b, unit, k) for k in range(3))
    for d, backward in enumerate(directions):
        given_states = {"h0": (states[0], (d,)), "c0": (states[1], (d,)), "y": (y, (slice(None), d))}
        given_states |= {"y_h": (y_h, (d,)), "y_c": (y_c, (d,))}
        places = {
            name: slot.view(slot.array[index]) for name, (slot, index) in given_states.items() if slot is not None
        }
        if b.jit and _rows_lie_together(places.get("y")):
            from exec.lowering.jit.recurrent import lstm_direction

            lstm_direction(b, x, w, r, bias, d, backward, places)
            continue
        wt = b.packs.get(w, ("lstm", d), partial(_scaled, w[d], half))
        rt = b.packs.get(r, ("lstm", d), partial(_scaled, r[d], half))
        shift = (
            np.zeros(4 * hidden, np.float32) if bias is None else (bias[d, : 4 * hidden] + bias[d, 4 * hidden :]) * half
        )
        gates, now = b.scratch((time * batch, 4 * hidden)), b.scratch((batch, 4 * hidden))
        cell, h = b.scratch((3, batch, hidden)), b.scratch((batch, hidden))
        rows = b.shaped(x, (time * batch, x.shape[2]))
        slots: list[Slot] = [rows, b.constant(wt), b.constant(rt), b.constant(shift), gates, now, cell, h]
        names = ["x", "wt", "rt", "shift", "gates", "now", "cell", "h", *places]
        b.emit(partial(_lstm, names, time, batch, hidden, backward), *slots, *places.values())
    return True


def _rows_lie_together(y: Slot | None) -> bool:
    """Whether the output of one step is (batch, hidden) without gaps."""
    return y is None or (y.array.strides[-1] == 4 and y.array.strides[-2] == 4 * y.shape[-1])


def _scaled(weights: Array, factors: Array) -> Array:
    """(inputs, gates) from (gates, inputs), each gate by its factor."""
    return np.ascontiguousarray((weights * factors[:, None]).T)


def _usual(b: Builder, unit: Unit) -> tuple[Slot, Array, Array, list[bool]] | None:
    """(x, W, R, whether each direction runs backward) if nothing unusual is asked for."""
    a = unit.attributes
    x = b.input(unit.inputs[0])
    w, r = b.units.constant(unit.inputs[1]), b.units.constant(unit.inputs[2])
    if w is None or r is None or x.dtype != np.float32 or x.size == 0 or a.get("layout") or a.get("clip"):
        return None
    if a.get("input_forget") or x.shape[0] > MOST_STEPS:
        return None
    directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[a.get("direction", "forward")]
    usual = USUAL[unit.op] * len(directions)
    if tuple(a.get("activations") or usual) != usual:
        return None
    return x, w, r, directions


def _output(b: Builder, unit: Unit, position: int) -> Slot | None:
    if position >= len(unit.outputs) or unit.outputs[position] < 0:
        return None
    return b.new(unit.outputs[position])


def _lstm(names: list[str], time: int, batch: int, hidden: int, backward: bool, *arrays: Array) -> list[Step]:
    at = dict(zip(names, arrays, strict=True))
    gates, now, h, shift = at["gates"], at["now"], at["h"], at["shift"]
    cell, left, right = at["cell"]
    half = np.float32(0.5)
    steps: list[Step] = [
        partial(np.matmul, at["x"], at["wt"], gates),
        partial(np.add, gates, shift, gates),
        partial(np.copyto, cell, at["c0"]) if "c0" in at else partial(cell.fill, 0),
        partial(np.copyto, h, at["h0"]) if "h0" in at else partial(h.fill, 0),
    ]
    i, o, f, c = (now[:, k * hidden : (k + 1) * hidden] for k in range(4))
    three = now[:, : 3 * hidden]
    for step in range(time - 1, -1, -1) if backward else range(time):
        target = at["y"][step] if "y" in at else h
        steps += [
            partial(np.matmul, h, at["rt"], now),
            partial(np.add, now, gates[step * batch : (step + 1) * batch], now),
            partial(np.tanh, now, now),
            partial(np.multiply, three, half, three),
            partial(np.add, three, half, three),
            partial(np.multiply, f, cell, left),
            partial(np.multiply, i, c, right),
            partial(np.add, left, right, cell),
            partial(np.tanh, cell, left),
            partial(np.multiply, o, left, h),
        ]
        if target is not h:
            steps.append(partial(np.copyto, target, h))
    if "y_h" in at:
        steps.append(partial(np.copyto, at["y_h"], h))
    if "y_c" in at:
        steps.append(partial(np.copyto, at["y_c"], cell))
    return steps
