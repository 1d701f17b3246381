"""Recurrent layers with every attribute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exec.errors import ExecutionError

SEEDS = st.integers(0, 1 << 16)
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
FUNCTIONS = {"LSTM": 3, "GRU": 2, "RNN": 1}
OUTPUTS = {"LSTM": 3, "GRU": 2, "RNN": 2}
TIME, BATCH, FEATURES, HIDDEN = 5, 3, 4, 6


def layer(
    rng: np.random.Generator, op: str, directions: int, given: set[str], lengths: list[int] | None = None
) -> list[Any]:
    """Inputs of a layer; those not in `given` are None."""

    def drawn(*shape: int) -> Any:
        return rng.normal(0, 0.5, shape).astype(np.float32)

    rows = GATES[op] * HIDDEN
    inputs: list[Any] = [
        drawn(TIME, BATCH, FEATURES),
        drawn(directions, rows, FEATURES),
        drawn(directions, rows, HIDDEN),
    ]
    inputs.append(drawn(directions, 2 * rows) if "b" in given else None)
    inputs.append(None if lengths is None else np.array(lengths, np.int32))
    inputs.append(drawn(directions, BATCH, HIDDEN) if "h" in given else None)
    if op == "LSTM":
        inputs.append(drawn(directions, BATCH, HIDDEN) if "h" in given else None)
        inputs.append(drawn(directions, 3 * HIDDEN) if "p" in given else None)
    while inputs[-1] is None:
        inputs.pop()
    return inputs


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
@given(
    direction=st.sampled_from(["forward", "reverse", "bidirectional"]), given_inputs=st.sets(st.sampled_from(["b", "h", "p"])),
    lengths=st.sampled_from([None, [5, 5, 5], [5, 2, 3], [1, 4, 5]]), clip=st.sampled_from([None, 0.3]), seed=SEEDS,
)  # fmt: skip
def test_directions_lengths_and_optional_inputs(
    check: Any, op: str, direction: str, given_inputs: set[str], lengths: Any, clip: Any, seed: int
) -> None:
    directions = 2 if direction == "bidirectional" else 1
    inputs = layer(np.random.default_rng(seed), op, directions, given_inputs, lengths)
    options = {} if clip is None else {"clip": clip}
    check(
        op, *inputs, direction=direction, hidden_size=HIDDEN, outputs=OUTPUTS[op], engines=["onnxruntime"], opset=14, **options
    )  # fmt: skip


@pytest.mark.parametrize("linear", [0, 1])
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_a_gru_may_reset_after_its_product(check: Any, linear: int, direction: str) -> None:
    directions = 2 if direction == "bidirectional" else 1
    inputs = layer(np.random.default_rng(1), "GRU", directions, {"b", "h"}, [5, 2, 3])
    check(
        "GRU", *inputs, direction=direction, hidden_size=HIDDEN, linear_before_reset=linear, outputs=2, engines=["onnxruntime"],
        opset=14,
    )  # fmt: skip


def test_the_input_gate_may_be_the_forget_gate_s_rest(check: Any) -> None:
    inputs = layer(np.random.default_rng(1), "LSTM", 1, {"b"})
    check("LSTM", *inputs, hidden_size=HIDDEN, input_forget=1, outputs=3, engines=["onnxruntime"], opset=14)


ACTIVATIONS = [
    ("Relu", None, None), ("Tanh", None, None), ("Sigmoid", None, None), ("Softsign", None, None), ("Softplus", None, None),
    ("LeakyRelu", 0.2, None), ("ThresholdedRelu", 0.1, None), ("Elu", 0.7, None), ("Affine", 0.5, 0.1), ("ScaledTanh", 0.8, 0.6),
    ("HardSigmoid", 0.3, 0.4),
]  # fmt: skip


@pytest.mark.parametrize(("name", "alpha", "beta"), ACTIVATIONS, ids=[a[0] for a in ACTIVATIONS])
def test_every_activation(check: Any, name: str, alpha: Any, beta: Any) -> None:
    inputs = layer(np.random.default_rng(1), "RNN", 1, {"b"})
    options: dict[str, Any] = {"activations": [name]}
    options |= {} if alpha is None else {"activation_alpha": [alpha]}
    options |= {} if beta is None else {"activation_beta": [beta]}
    check("RNN", *inputs, hidden_size=HIDDEN, outputs=2, engines=["onnxruntime"], opset=14, **options)


@pytest.mark.parametrize("op", ["LSTM", "GRU"])
def test_activations_may_differ_per_gate(check: Any, op: str) -> None:
    inputs = layer(np.random.default_rng(1), op, 2, {"b"})
    names = ["HardSigmoid", "Relu", "Tanh"][: FUNCTIONS[op]] * 2
    check(
        op, *inputs, hidden_size=HIDDEN, direction="bidirectional", activations=names, outputs=OUTPUTS[op], engines=["onnxruntime"],
        opset=14,
    )  # fmt: skip


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_the_batch_may_come_first(compute: Any, op: str) -> None:
    inputs = layer(np.random.default_rng(1), op, 2, {"b", "h"})
    options = {"hidden_size": HIDDEN, "direction": "bidirectional", "outputs": OUTPUTS[op], "opset": 14}
    plain = compute(op, *inputs, **options)
    turned = [np.swapaxes(x, 0, 1) if k == 0 or k in (5, 6) else x for k, x in enumerate(inputs)]
    other = compute(op, *turned, layout=1, **options)
    np.testing.assert_array_equal(other[0], plain[0].transpose(2, 0, 1, 3))
    for mine, theirs in zip(other[1:], plain[1:], strict=True):
        np.testing.assert_array_equal(mine, theirs.transpose(1, 0, 2))


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_half_precision_goes_through_float32(compute: Any, op: str) -> None:
    inputs = layer(np.random.default_rng(1), op, 1, {"b"})
    options = {"hidden_size": HIDDEN, "outputs": OUTPUTS[op], "opset": 14}
    wide = compute(op, *inputs, **options)
    narrow = compute(op, *(x if x is None else x.astype(np.float16) for x in inputs), **options)
    for a, b in zip(wide, narrow, strict=True):
        assert b.dtype == np.float16
        np.testing.assert_allclose(b.astype(np.float32), a, atol=2e-3 * np.abs(a).max())


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_no_steps_and_no_batch(compute: Any, op: str) -> None:
    inputs = layer(np.random.default_rng(1), op, 1, {"b", "h"})
    y, last, *_ = compute(op, inputs[0][:0], *inputs[1:], hidden_size=HIDDEN, outputs=OUTPUTS[op], opset=14)
    assert y.shape == (0, 1, BATCH, HIDDEN)
    np.testing.assert_array_equal(last, inputs[5])
    empty = [x[:, :0] if k == 0 or k >= 5 else x for k, x in enumerate(inputs)]
    assert compute(op, *empty, hidden_size=HIDDEN, outputs=OUTPUTS[op], opset=14)[0].shape == (TIME, 1, 0, HIDDEN)


def test_an_unknown_direction_or_activation_is_named(compute: Any) -> None:
    inputs = layer(np.random.default_rng(1), "RNN", 1, set())
    with pytest.raises(ExecutionError, match="'sideways' is unknown"):
        compute("RNN", *inputs, direction="sideways")
    with pytest.raises(ExecutionError, match="'Tanhh' is unknown"):
        compute("RNN", *inputs, activations=["Tanhh"])
