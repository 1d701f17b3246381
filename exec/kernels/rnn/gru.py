"""Gated recurrent units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exec.arrays import Array
from exec.kernels.registry import kernel
from exec.kernels.rnn.activations import activations as functions_of
from exec.kernels.rnn.layer import Layer, Step, bounded, projected
from exec.kernels.widen import widened


@kernel("GRU")
@widened
def gru(
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
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
    output_sequence: int = 0,
) -> tuple[Array, Array]:
    """A layer of GRU cells; all outputs and the last one.

        z, s = F(x Wᵀ + h Rᵀ + b);  n = G(x Wᵀ + (s·h) Rᵀ + b);  h' = (1 - z)·n + z·h

    Shapes  x (time, batch, features), w (directions, 3·hidden, features), r (directions, 3·hidden, hidden),
            b (directions, 6·hidden); gates in the order z, s (reset), n.
    Spec    ONNX GRU-1 to -22. linear_before_reset=1: n = G(x Wᵀ + s·(h Rᵀ + bᵣ) + b).
    """
    hidden = r.shape[2]
    layer = Layer(x, hidden, direction, layout, sequence_lens, (initial_h,))
    names = activations or ("Sigmoid", "Tanh") * len(layer.backward)
    functions = functions_of(names, activation_alpha, activation_beta)
    late = 2 * hidden

    def project(d: int, inputs: Array) -> Array:
        if b is None:
            return projected(inputs, w[d], None)
        bias = b[d, : 3 * hidden].copy()
        outer = late if linear_before_reset else 3 * hidden
        bias[:outer] += b[d, 3 * hidden : 3 * hidden + outer]
        return projected(inputs, w[d], bias)

    def step(d: int) -> Step:
        f, g = functions[2 * d : 2 * d + 2]
        recurrent = np.ascontiguousarray(r[d].T)
        gating, proposing = np.ascontiguousarray(recurrent[:, :late]), np.ascontiguousarray(recurrent[:, late:])
        inner = b[d, 3 * hidden + late :] if b is not None and linear_before_reset else x.dtype.type(0)

        def advance(given: Array, state: list[Array]) -> list[Array]:
            output = state[0]
            opened = f(bounded(given[:, :late] + np.matmul(output, gating), clip))
            keep, reset = opened[:, :hidden], opened[:, hidden:]
            if linear_before_reset:
                recalled = reset * (np.matmul(output, proposing) + inner)
            else:
                recalled = np.matmul(reset * output, proposing)
            proposal = g(bounded(given[:, late:] + recalled, clip))
            return [(1 - keep) * proposal + keep * output]

        return advance

    y, last = layer.run(project, step)
    return y, last
