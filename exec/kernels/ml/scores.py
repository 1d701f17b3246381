"""What classifiers and regressors do with raw scores: post transforms, and the second column of a two-class model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.math.activation import sigmoid
from exec.kernels.math.softmax import softmax

_TINY = 1e-7  # scores this small are "zero" to SOFTMAX_ZERO
_WINITZKI = 0.147


def transformed(scores: Array, transform: str) -> Array:
    """Rows of scores after a post transform."""
    if transform == "NONE":
        return scores
    if transform == "LOGISTIC":
        return sigmoid(scores)
    if transform == "SOFTMAX":
        return softmax(scores)
    if transform == "SOFTMAX_ZERO":
        return _softmax_zero(scores)
    if transform == "PROBIT":
        return _probit(scores)
    raise ExecutionError(
        f"the post transform '{transform}' is unknown", why="known are NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO and PROBIT"
    )


def _softmax_zero(scores: Array) -> Array:
    """Softmax over the scores that are not zero; those that are stay next to zero."""
    peak = np.max(scores, axis=1, keepdims=True)
    counted = np.abs(scores) > _TINY
    powers = np.where(counted, np.exp(scores - peak), 0)
    total = np.sum(powers, axis=1, keepdims=True)
    return np.asarray(np.where(counted, powers, scores * np.exp(-peak)) / np.where(total == 0, 1, total))


def _probit(scores: Array) -> Array:
    """√2 · erf⁻¹(2p - 1), by Winitzki's approximation (2008), which the other runtimes use as well."""
    x = 2 * scores - 1
    log = np.log((1 - x) * (1 + x))
    v = 2 / (np.pi * _WINITZKI) + 0.5 * log
    return np.asarray(np.sqrt(2) * np.sign(x) * np.sqrt(np.sqrt(v * v - log / _WINITZKI) - v), scores.dtype)


def two_columns(score: Array, transform: str, positive_only: bool) -> Array:
    """The scores of both classes of a model that only has one: of the class it speaks for, the second.

    positive_only  the score is a probability: the other class has 1 - score; else it has -score
    """
    if transform == "PROBIT":
        return _probit(score)
    if transform == "LOGISTIC":
        return sigmoid(np.concatenate((-score, score), 1))
    return np.concatenate((1 - score if positive_only else -score, score), 1)


def labelled(index: Array, integers: Sequence[int] | None, strings: Sequence[str] | None) -> Array:
    """Class labels by index: strings if there are any, else integers, else the index itself."""
    labels: Any = np.array(strings, object) if strings else np.array(integers, np.int64) if integers else None
    return index.astype(np.int64) if labels is None else np.take(labels, index)
