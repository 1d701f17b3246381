"""LSTM with quantized weights and inputs quantized as they come."""

from __future__ import annotations

from collections.abc import Sequence

from exec.arrays import Array
from exec.kernels.contrib.activation import DOMAIN
from exec.kernels.contrib.integer import scaled_product
from exec.kernels.quantization import dynamic_quantize_linear
from exec.kernels.registry import kernel
from exec.kernels.rnn.lstm import lstm_layer


@kernel("DynamicQuantizeLSTM", domain=DOMAIN)
def dynamic_quantize_lstm(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None,
    sequence_lens: Array | None,
    initial_h: Array | None,
    initial_c: Array | None,
    p: Array | None,
    w_scale: Array,
    w_zero_point: Array,
    r_scale: Array,
    r_zero_point: Array,
    /,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
) -> tuple[Array, Array, Array]:
    """LSTM; the input is quantized to uint8 by its range, and so is the hidden state at each step.

    Shapes  as LSTM, but w (directions, features, 4·hidden), r (directions, hidden, 4·hidden); scales and zero points
            (directions) or (directions, 4·hidden).
    """

    def product(values: Array, weights: Array, scale: Array, zero: Array) -> Array:
        quantized, a_scale, a_zero = dynamic_quantize_linear(values)
        return scaled_product(quantized, weights, a_scale, scale, a_zero, zero)

    def project(d: int, inputs: Array) -> Array:
        rows = product(inputs.reshape(-1, inputs.shape[2]), w[d], w_scale[d], w_zero_point[d])
        return rows.reshape(*inputs.shape[:2], w.shape[2])

    return lstm_layer(
        x, r.shape[1], b, sequence_lens, initial_h, initial_c, p, project,
        lambda d: lambda h: product(h, r[d], r_scale[d], r_zero_point[d]),
        activation_alpha=activation_alpha, activation_beta=activation_beta, activations=activations, clip=clip,
        direction=direction, input_forget=input_forget, layout=0,
    )  # fmt: skip
