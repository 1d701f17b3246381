"""What comes behind a value: a range is judged by what the next activation makes of it, not by the value itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.ir import Node, constant_value

Curve = Callable[[Array], Array]


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(−x)), without overflow."""
    half: Array = 0.5 * np.tanh(0.5 * x) + 0.5
    return half


def _gelu(x: Array) -> Array:
    return x * (0.5 + 0.5 * np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


CURVES: dict[str, Curve] = {
    "Relu": lambda x: np.maximum(x, 0.0),
    "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0.0, 1.0),
    "Sigmoid": sigmoid,
    "HardSigmoid": lambda x: np.clip(0.2 * x + 0.5, 0.0, 1.0),
    "Tanh": np.tanh,
    "Gelu": _gelu,
    "Swish": lambda x: x * sigmoid(x),
    "Mish": lambda x: x * np.tanh(np.logaddexp(0.0, x)),
    "LeakyRelu": lambda x: np.where(x < 0, 0.01 * x, x),
    "Elu": lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0.0)), x),
}


def curve_after(tensor: Any, outputs: set[int]) -> Curve | None:
    """The function all readers of a value apply to it, None when they do not agree or use it as it is.

    outputs  ids of the graph's outputs: a value that is one is used as it is
    """
    if id(tensor) in outputs or not tensor.outputs:
        return None
    readers: list[Node] = list(dict.fromkeys(tensor.outputs))
    if len(readers) == 1:
        return _curve(readers[0])
    if len(readers) == 2:
        gate = next((n for n in readers if n.op in ("Sigmoid", "HardSigmoid") and not n.domain), None)
        product = next((n for n in readers if n.op == "Mul" and not n.domain), None)
        if gate is not None and product is not None and any(t is gate.outputs[0] for t in product.inputs):
            inner = _curve(gate)
            return None if inner is None else lambda x: x * inner(x)
    return None


def _curve(node: Node) -> Curve | None:
    if node.domain or node.op not in CURVES:
        return None
    if node.op == "HardSigmoid":
        alpha, beta = float(node.attrs.get("alpha", 0.2)), float(node.attrs.get("beta", 0.5))
        return lambda x: np.clip(alpha * x + beta, 0.0, 1.0)
    if node.op == "LeakyRelu":
        slope = float(node.attrs.get("alpha", 0.01))
        return lambda x: np.where(x < 0, slope * x, x)
    return CURVES[node.op]


def clip_bounds(node: Node) -> tuple[float, float] | None:
    """(min, max) of a Clip with constant bounds, (0, ∞) of a Relu; None for others."""
    if node.op == "Relu":
        return 0.0, float("inf")
    if node.op != "Clip":
        return None
    bounds = [-float("inf"), float("inf")]
    for place, name in ((1, "min"), (2, "max")):
        if name in node.attrs:
            bounds[place - 1] = float(node.attrs[name])
        elif len(node.inputs) > place and node.inputs[place].name:
            value = constant_value(node.inputs[place])
            if value is None:
                return None
            bounds[place - 1] = float(value.reshape(-1)[0])
    return bounds[0], bounds[1]
