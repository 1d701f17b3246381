"""Linear models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exec.arrays import Array
from exec.kernels.ml.features import DOMAIN
from exec.kernels.ml.scores import labelled, transformed, two_columns
from exec.kernels.registry import kernel


@kernel("LinearRegressor", domain=DOMAIN)
def linear_regressor(
    x: Array,
    /,
    *,
    coefficients: Sequence[float] = (),
    intercepts: Sequence[float] | None = None,
    post_transform: str = "NONE",
    targets: int = 1,
) -> Array:
    """x · coefficientsᵀ + intercepts, in float32: one column per target."""
    return transformed(_scores(x, coefficients, intercepts, targets), post_transform)


@kernel("LinearClassifier", domain=DOMAIN)
def linear_classifier(
    x: Array,
    /,
    *,
    classlabels_ints: Sequence[int] | None = None,
    classlabels_strings: Sequence[str] | None = None,
    coefficients: Sequence[float],
    intercepts: Sequence[float] | None = None,
    multi_class: int = 0,
    post_transform: str = "NONE",
) -> tuple[Array, Array]:
    """The class with the highest score x · coefficientsᵀ + intercepts, and the scores after the post transform.

    One set of coefficients for two classes speaks for the second: it wins above 0.
    """
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    count = len(intercepts) if intercepts else max(len(coefficients) // max(rows.shape[1], 1), 1)
    scores = _scores(rows, coefficients, intercepts, count)
    classes = len(classlabels_strings or classlabels_ints or ())
    if count == 1:
        winner = (scores[:, 0] > 0).astype(np.int64)
        shown = two_columns(scores, post_transform, True) if classes == 2 else transformed(scores, post_transform)
        return labelled(winner, classlabels_ints, classlabels_strings), shown
    winner = np.argmax(scores, axis=1)
    return labelled(winner, classlabels_ints, classlabels_strings), transformed(scores, post_transform)


def _scores(x: Array, coefficients: Sequence[float], intercepts: Sequence[float] | None, count: int) -> Array:
    rows = (x.reshape(1, -1) if x.ndim == 1 else x).astype(np.float32)
    weights = np.array(coefficients, np.float32).reshape(count, -1)
    scores: Array = np.matmul(rows, weights.T)
    if intercepts:
        scores += np.array(intercepts, np.float32)
    return scores
