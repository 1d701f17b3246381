"""The simple recurrent layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exec.arrays import Array
from exec.kernels.registry import kernel
from exec.kernels.rnn.activations import activations as functions_of
from exec.kernels.rnn.layer import Layer, Step, bounded, projected
from exec.kernels.widen import widened


@kernel("RNN")
@widened
def rnn(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    /,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] = ("Tanh", "Tanh"),
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    output_sequence: int = 0,
) -> tuple[Array, Array]:
    """h' = F(x Wᵀ + h Rᵀ + b); all outputs and the last one.

    Shapes  x (time, batch, features), w (directions, hidden, features), r (directions, hidden, hidden),
            b (directions, 2·hidden).
    Spec    ONNX RNN-1 to -22.
    """
    hidden = r.shape[2]
    layer = Layer(x, hidden, direction, layout, sequence_lens, (initial_h,))
    functions = functions_of(activations, activation_alpha, activation_beta)

    def project(d: int, inputs: Array) -> Array:
        return projected(inputs, w[d], None if b is None else b[d, :hidden] + b[d, hidden:])

    def step(d: int) -> Step:
        recurrent = np.ascontiguousarray(r[d].T)
        return lambda given, state: [functions[d](bounded(given + np.matmul(state[0], recurrent), clip))]

    y, last = layer.run(project, step)
    return y, last
