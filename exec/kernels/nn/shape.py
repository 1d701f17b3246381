"""The family's small change: Flatten, Dropout, Shrink."""

from __future__ import annotations

import math

import numpy as np

from exec.arrays import Array
from exec.kernels.registry import kernel


@kernel("Flatten")
def flatten(x: Array, /, *, axis: int = 1) -> Array:
    """Two axes: the product of those before `axis`, and of the rest. Spec: ONNX Flatten-1 to -25."""
    axis = axis + x.ndim if axis < 0 else axis
    return (
        x.reshape(math.prod(x.shape[:axis]), -1)
        if x.size
        else x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
    )


@kernel("Shrink", since=9)
def shrink(x: Array, /, *, bias: float = 0.0, lambd: float = 0.5) -> Array:
    """x + bias below −lambd, x − bias above lambd, 0 between. Spec: Shrink-9."""
    y = np.zeros_like(x)
    wide = x.astype(np.float64) if x.dtype.kind in "iu" else x
    np.copyto(y, (wide - wide.dtype.type(bias)).astype(x.dtype), where=wide > lambd)
    np.copyto(y, (wide + wide.dtype.type(bias)).astype(x.dtype), where=wide < -lambd)
    return y


@kernel("Dropout")
def dropout_1(
    x: Array,
    /,
    *,
    consumed_inputs: list[int] | None = None,
    is_test: int = 0,
    ratio: float = 0.5,
    n_outputs: int = 1,
) -> Array | tuple[Array, Array]:
    """Inference: the input, and a mask of ones in its type.

    Spec    ONNX Dropout-1, -6, -7. From 7 on it is inference only; before that, training is not run here.
    """
    return (x, np.ones_like(x)) if n_outputs > 1 else x


@kernel("Dropout", since=10)
def dropout_10(x: Array, /, *, ratio: float = 0.5, n_outputs: int = 1) -> Array | tuple[Array, Array]:
    """Inference: the input, and a mask of true.

    Spec    ONNX Dropout-10.
    """
    return (x, np.ones(x.shape, np.bool_)) if n_outputs > 1 else x


@kernel("Dropout", since=12)
def dropout(
    x: Array,
    ratio: Array | None = None,
    training_mode: Array | None = None,
    /,
    *,
    seed: int | None = None,
    rng: np.random.Generator,
    n_outputs: int = 1,
) -> Array | tuple[Array, Array]:
    """In training mode, zero a share `ratio` of the elements and scale the rest; else the input and a mask of ones.

    Spec    ONNX Dropout-12, -13, -22.
    """
    share = 0.5 if ratio is None else float(ratio)
    if training_mode is None or not bool(training_mode) or share == 0:
        return (x, np.ones(x.shape, np.bool_)) if n_outputs > 1 else x
    draw = rng.random(x.shape) if seed is None else np.random.RandomState(seed).random_sample(x.shape)
    mask = np.asarray(draw >= share)
    y: Array = mask * x * x.dtype.type(1 / (1 - share))
    return (y, mask) if n_outputs > 1 else y
