"""LSTM as a compiled kernel: the inputs' part in one product, then the loop over time."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from exec.arrays import Array
from exec.compiled import gemm, packing, recurrent
from exec.compiled.vectors import PANEL
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder, Step
from exec.lowering.jit.addresses import address
from exec.lowering.jit.products import product
from exec.lowering.jit.tail import Tail


def lstm_direction(
    b: Builder, x: Slot, w: Array, r: Array, bias: Array | None, d: int, backward: bool, states: dict[str, Slot]
) -> None:
    """Emit one direction; `states` holds h0, c0 (where given) and y, y_h, y_c (where wanted)."""
    time, batch, _ = x.shape
    hidden = r.shape[2]
    rows = b.shaped(x, (time * batch, x.shape[2]))
    gates = b.scratch((time * batch, 4 * hidden))
    shift = None
    if bias is not None:
        shift = b.constant(np.ascontiguousarray(bias[d, : 4 * hidden] + bias[d, 4 * hidden :]))
    weights = b.packs.get(w, ("direction", d), lambda: np.ascontiguousarray(w[d].T))
    product(b, gates, rows, weights, Tail(shift, None, 1, 0, 0.0, 0.0), transposed=False)
    panels = b.packs.get(r, ("recurrent", d), lambda: packing.pack_columns(np.ascontiguousarray(r[d].T)))
    h, cell, now = b.scratch((batch, hidden)), b.scratch((batch, hidden)), b.scratch((batch, 4 * hidden))
    names = list(states)
    b.emit(
        partial(_bind, names, time, batch, hidden, backward), gates, b.constant(panels), h, cell, now, *states.values(),
        variant="compiled",
    )  # fmt: skip


def _bind(
    names: list[str], time: int, batch: int, hidden: int, backward: bool, gates: Array, panels: Array, h: Array, cell: Array,
    now: Array, *arrays: Array,
) -> list[Step]:  # fmt: skip
    at = dict(zip(names, arrays, strict=True))
    y = at.get("y")
    steps: list[Step] = [
        partial(np.copyto, h, at["h0"]) if "h0" in at else partial(h.fill, 0),
        partial(np.copyto, cell, at["c0"]) if "c0" in at else partial(cell.fill, 0),
        partial(
            recurrent.lstm.compiled, gemm.multiply_panel.address, recurrent.cell_step.address, address(gates), address(panels), address(h), address(cell),
            address(now), 0 if y is None else address(y), 0 if y is None else y.strides[0], time, batch, hidden,
            int(backward), PANEL, -math.inf, math.inf,
        ),
    ]  # fmt: skip
    steps += [partial(np.copyto, at[name], state) for name, state in (("y_h", h), ("y_c", cell)) if name in at]
    return steps
