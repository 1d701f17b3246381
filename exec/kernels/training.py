"""Kernels of ai.onnx.preview.training: one step of an optimizer over any number of tensors."""

from __future__ import annotations

from collections.abc import Sequence

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.registry import kernel

_DOMAIN = "ai.onnx.preview.training"


def _grouped(tensors: tuple[Array, ...], kinds: int) -> list[tuple[Array, ...]]:
    """Inputs come kind by kind (all values, all gradients, …); here one tuple per optimized tensor."""
    count, rest = divmod(len(tensors), kinds)
    if rest:
        raise ExecutionError(f"{len(tensors)} tensors are not {kinds} of each kind")
    return [tensors[k::count] for k in range(count)]


def _by_kind(results: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    return tuple(tensor for kind in zip(*results, strict=True) for tensor in kind)


@kernel("Adagrad", domain=_DOMAIN)
def adagrad(
    rate: Array,
    count: Array,
    /,
    *tensors: Array,
    decay_factor: float = 0.0,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
) -> tuple[Array, ...]:
    """h' = h + g², x' = x - r · g / (√h' + ε), with g regularized and r = rate / (1 + count · decay)."""
    factor = rate / (1 + count * decay_factor)
    results = []
    for x, gradient, squares in _grouped(tensors, 3):
        g = norm_coefficient * x + gradient
        h = squares + g * g
        results.append(((x - factor * g / (h**0.5 + epsilon)).astype(x.dtype), h.astype(x.dtype)))
    return _by_kind(results)


@kernel("Adam", domain=_DOMAIN)
def adam(
    rate: Array,
    count: Array,
    /,
    *tensors: Array,
    alpha: float = 0.9,
    beta: float = 0.999,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
    norm_coefficient_post: float = 0.0,
) -> tuple[Array, ...]:
    """v' = α·v + (1 - α)·g, h' = β·h + (1 - β)·g², x' = (x - r · v' / (√h' + ε)) · (1 - post), g regularized.

    After the first step the rate is corrected for the averages' start at zero: r = rate · √(1 - βᵗ) / (1 - αᵗ).
    """
    steps = int(count.reshape(()))
    factor = rate * (1 - beta**steps) ** 0.5 / (1 - alpha**steps) if steps > 0 else rate
    results = []
    for x, gradient, average, squares in _grouped(tensors, 4):
        g = norm_coefficient * x + gradient
        v = alpha * average + (1 - alpha) * g
        h = beta * squares + (1 - beta) * g * g
        new = (1 - norm_coefficient_post) * (x - factor * v / (h**0.5 + epsilon))
        results.append((new.astype(x.dtype), v.astype(x.dtype), h.astype(x.dtype)))
    return _by_kind(results)


@kernel("Momentum", domain=_DOMAIN)
def momentum(
    rate: Array, count: Array, /, *tensors: Array, alpha: float, beta: float, mode: str, norm_coefficient: float
) -> tuple[Array, ...]:
    """v' = α·v + β·g, x' = x - rate · v' (mode "nesterov": x - rate · (g + α·v')), g regularized; β is 1 at step 0."""
    if mode not in ("standard", "nesterov"):
        raise ExecutionError(f"the mode '{mode}' is unknown", why="known are standard and nesterov")
    scale = beta if int(count.reshape(())) > 0 else 1.0
    results = []
    for x, gradient, velocity in _grouped(tensors, 3):
        g = norm_coefficient * x + gradient
        v = alpha * velocity + scale * g
        new = x - rate * (v if mode == "standard" else g + alpha * v)
        results.append((new.astype(x.dtype), v.astype(x.dtype)))
    return _by_kind(results)
