"""Long short-term memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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

    def recur(d: int) -> Callable[[Array], Array]:
        weights = np.ascontiguousarray(r[d].T)
        return lambda h: np.asarray(np.matmul(h, weights))

    return lstm_layer(
        x, r.shape[2], b, sequence_lens, initial_h, initial_c, p, lambda d, inputs: projected(inputs, w[d], None), recur,
        activation_alpha=activation_alpha, activation_beta=activation_beta, activations=activations, clip=clip,
        direction=direction, input_forget=input_forget, layout=layout,
    )  # fmt: skip


def lstm_layer(
    x: Array,
    hidden: int,
    b: Array | None,
    sequence_lens: Array | None,
    initial_h: Array | None,
    initial_c: Array | None,
    p: Array | None,
    project: Callable[[int, Array], Array],
    recur: Callable[[int], Callable[[Array], Array]],
    *,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    activations: Sequence[str] | None,
    clip: float | None,
    direction: str,
    input_forget: int,
    layout: int,
) -> tuple[Array, Array, Array]:
    """The layer for any way to multiply: `project(direction, x)` and `recur(direction)(h)` give x Wᵀ and h Rᵀ."""
    layer = Layer(x, hidden, direction, layout, sequence_lens, (initial_h, initial_c))
    names = activations or ("Sigmoid", "Tanh", "Tanh") * len(layer.backward)
    functions = functions_of(names, activation_alpha, activation_beta)

    def biased(d: int, inputs: Array) -> Array:
        gates = project(d, inputs)
        return gates if b is None else np.asarray(gates + (b[d, : 4 * hidden] + b[d, 4 * hidden :]))

    def step(d: int) -> Step:
        f, g, h = functions[3 * d : 3 * d + 3]
        recurrent = recur(d)
        peepholes = None if p is None else p[d].reshape(3, hidden)

        def advance(given: Array, state: list[Array]) -> list[Array]:
            output, cell = state
            gates = given + recurrent(output)
            if peepholes is None:
                opened = f(bounded(gates[:, : 3 * hidden], clip))
                write, emit, forget = opened[:, :hidden], opened[:, hidden : 2 * hidden], opened[:, 2 * hidden :]
            else:
                write = f(bounded(gates[:, :hidden] + peepholes[0] * cell, clip))
                forget = f(bounded(gates[:, 2 * hidden : 3 * hidden] + peepholes[2] * cell, clip))
            if input_forget:
                forget = 1 - write
            cell = forget * cell + write * g(bounded(gates[:, 3 * hidden :], clip))
            if peepholes is not None:
                emit = f(bounded(gates[:, hidden : 2 * hidden] + peepholes[1] * cell, clip))
            return [emit * h(cell), cell]

        return advance

    y, last, cell = layer.run(biased, step)
    return y, last, cell
