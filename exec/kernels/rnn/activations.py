"""The functions a recurrent layer may be given by name, with their alpha and beta."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError, nearest
from exec.kernels.math import activation
from exec.kernels.math.trigonometry import tanh

Function = Callable[[Array], Array]


def _affine(x: Array, alpha: float, beta: float) -> Array:
    return np.asarray(alpha * x + beta)


def _scaled_tanh(x: Array, alpha: float, beta: float) -> Array:
    return np.asarray(alpha * np.tanh(beta * x))


_PLAIN: dict[str, Function] = {
    "relu": activation.relu,
    "tanh": tanh,
    "sigmoid": activation.sigmoid,
    "softsign": activation.softsign,
    "softplus": activation.softplus,
}
_WITH_ALPHA: dict[str, tuple[Callable[..., Array], float]] = {
    "leakyrelu": (activation.leaky_relu, 0.01),
    "thresholdedrelu": (activation.thresholded_relu, 1.0),
    "elu": (activation.elu, 1.0),
}
_WITH_BOTH: dict[str, tuple[Callable[..., Array], float, float]] = {
    "affine": (_affine, 1.0, 0.0),
    "scaledtanh": (_scaled_tanh, 1.0, 1.0),
    "hardsigmoid": (activation.hard_sigmoid, 0.2, 0.5),
}


def activations(names: Sequence[str], alphas: Sequence[float] | None, betas: Sequence[float] | None) -> list[Function]:
    """The functions of a layer; each takes the next alpha (and beta) given if it has one, else its default."""
    alpha, beta = iter(alphas or ()), iter(betas or ())
    found: list[Function] = []
    for name in names:
        key = name.lower()
        if key in _PLAIN:
            found.append(_PLAIN[key])
        elif key in _WITH_ALPHA:
            one, first = _WITH_ALPHA[key]
            found.append(partial(one, alpha=next(alpha, first)))
        elif key in _WITH_BOTH:
            two, first, second = _WITH_BOTH[key]
            found.append(partial(two, alpha=next(alpha, first), beta=next(beta, second)))
        else:
            known = [*_PLAIN, *_WITH_ALPHA, *_WITH_BOTH]
            raise ExecutionError(f"the activation '{name}' is unknown", why=nearest(key, known))
    return found
