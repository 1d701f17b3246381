"""Long short-term memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exec.arrays import Array
from exec.kernels.registry import kernel
from exec.kernels.rnn.activations import activations as functions_of
from exec.kernels.rnn.layer import Layer, Step, bounded, projected
from exec.kernels.widen import widened


@kernel("LSTM")
@widened
def lstm(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    initial_c: Array | None = None,
    p: Array | None = None,
    /,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
    layout: int = 0,
    output_sequence: int = 0,
) -> tuple[Array, Array, Array]:
    """A layer of LSTM cells; all outputs, the last output and the last cell state.

        i, o, f = F(x Wᵀ + h Rᵀ + b + P·c);  c' = f·c + i·G(x Wᵀ + h Rᵀ + b);  h' = o·H(c')

    Shapes  x (time, batch, features), w (directions, 4·hidden, features), r (directions, 4·hidden, hidden),
            b (directions, 8·hidden), p (directions, 3·hidden); gates in the order i, o, f, c.
    Spec    ONNX LSTM-1 to -22. o sees the new cell state through its peephole; input_forget=1 couples f = 1 - i.
    """
    hidden = r.shape[2]
    layer = Layer(x, hidden, direction, layout, sequence_lens, (initial_h, initial_c))
    names = activations or ("Sigmoid", "Tanh", "Tanh") * len(layer.backward)
    functions = functions_of(names, activation_alpha, activation_beta)

    def project(d: int, inputs: Array) -> Array:
        return projected(inputs, w[d], None if b is None else b[d, : 4 * hidden] + b[d, 4 * hidden :])

    def step(d: int) -> Step:
        f, g, h = functions[3 * d : 3 * d + 3]
        recurrent = np.ascontiguousarray(r[d].T)
        peepholes = None if p is None else p[d].reshape(3, hidden)

        def advance(given: Array, state: list[Array]) -> list[Array]:
            output, cell = state
            gates = given + np.matmul(output, recurrent)
            if peepholes is not None:
                gates[:, :hidden] += peepholes[0] * cell
                gates[:, 2 * hidden : 3 * hidden] += peepholes[2] * cell
            gates = bounded(gates, clip)
            opened = f(gates[:, : 3 * hidden])
            write, forget = opened[:, :hidden], opened[:, 2 * hidden :]
            if input_forget:
                forget = 1 - write
            cell = forget * cell + write * g(gates[:, 3 * hidden :])
            if peepholes is None:
                emit = opened[:, hidden : 2 * hidden]
            else:
                seen = given[:, hidden : 2 * hidden] + np.matmul(output, recurrent[:, hidden : 2 * hidden])
                emit = f(bounded(seen + peepholes[1] * cell, clip))
            return [emit * h(cell), cell]

        return advance

    y, last, cell = layer.run(project, step)
    return y, last, cell
