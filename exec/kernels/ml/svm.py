"""Support vector machines, computed in float64: coefficients of thousands cancel where features are not scaled."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.ml.features import DOMAIN
from exec.kernels.ml.scores import labelled, transformed, two_columns
from exec.kernels.registry import kernel

_ROUNDS = 100
_PRECISION = 0.005


@kernel("SVMRegressor", domain=DOMAIN)
def svm_regressor(
    x: Array,
    /,
    *,
    coefficients: Sequence[float] = (),
    kernel_params: Sequence[float] = (),
    kernel_type: str = "LINEAR",
    n_supports: int = 0,
    one_class: int = 0,
    post_transform: str = "NONE",
    rho: Sequence[float] = (),
    support_vectors: Sequence[float] = (),
) -> Array:
    """Σ coefficient · K(x, support vector) + rho; with one_class=1 its sign.

    Without support vectors the coefficients are those of a linear model.
    """
    rows = x.astype(np.float64)
    weights = np.array(coefficients)
    if n_supports:
        vectors = np.array(support_vectors).reshape(n_supports, -1)
        scores = _kernel(rows, vectors, kernel_type, kernel_params) @ weights
    else:
        scores = _kernel(rows, weights.reshape(1, -1), "LINEAR", kernel_params)[:, 0]
    scores = (scores + rho[0]).astype(np.float32)[:, None]
    if one_class:
        return np.where(scores > 0, np.float32(1), np.float32(-1))
    return transformed(scores, post_transform)


@kernel("SVMClassifier", domain=DOMAIN)
def svm_classifier(
    x: Array,
    /,
    *,
    classlabels_ints: Sequence[int] | None = None,
    classlabels_strings: Sequence[str] | None = None,
    coefficients: Sequence[float] = (),
    kernel_params: Sequence[float] = (),
    kernel_type: str = "LINEAR",
    post_transform: str = "NONE",
    prob_a: Sequence[float] = (),
    prob_b: Sequence[float] = (),
    rho: Sequence[float] = (),
    support_vectors: Sequence[float] = (),
    vectors_per_class: Sequence[int] = (),
) -> tuple[Array, Array]:
    """The class most pairs of classes vote for, and the scores of the pairs or (with prob_a, prob_b) class probabilities.

    Without support vectors, one linear model per class.
    """
    rows = (x.reshape(1, -1) if x.ndim == 1 else x).astype(np.float64)
    classes = max(len(classlabels_strings or classlabels_ints or ()), 1)
    weights = np.array(coefficients)
    probable = bool(prob_a) and bool(vectors_per_class)
    if vectors_per_class:
        vectors = np.array(support_vectors).reshape(sum(vectors_per_class), -1)
        similar = _kernel(rows, vectors, kernel_type, kernel_params)
        scores = _pairs(similar, weights.reshape(-1, len(vectors)), vectors_per_class, np.array(rho))
        votes = _votes(scores, len(vectors_per_class))
        if probable:
            scores = _probabilities(scores, np.array(prob_a), np.array(prob_b), classes)
    else:
        scores = votes = _kernel(rows, weights.reshape(classes, -1), "LINEAR", kernel_params) + rho[0]
    scores = scores.astype(np.float32)
    winner = np.argmax(votes, axis=1)
    if len(rho) != 1 or scores.shape[1] > 1:
        if len(rho) == 1 and classes == 2 and not probable and bool((weights >= 0).all()):
            winner = np.where(np.max(votes, axis=1) >= 0.5, 1, winner)
        return labelled(winner, classlabels_ints, classlabels_strings), transformed(scores, post_transform)
    if classes == 2:
        if bool((weights >= 0).all()):
            winner = np.where(np.max(votes, axis=1) >= 0.5, 1, winner)
        shown = two_columns(scores, post_transform, False)
        return labelled(winner, classlabels_ints, classlabels_strings), shown
    return (scores[:, 0] > 0).astype(np.int64), transformed(scores, post_transform)


def _kernel(x: Array, vectors: Array, kind: str, parameters: Sequence[float]) -> Array:
    """K(row, vector) for all rows and vectors: one matrix product."""
    gamma, offset, degree = (*parameters, 0.0, 0.0, 0.0)[:3]
    product = np.matmul(x, vectors.T)
    if kind == "LINEAR":
        return np.asarray(product)
    if kind == "POLY":
        return np.asarray(np.power(product * gamma + offset, degree))
    if kind == "SIGMOID":
        return np.asarray(np.tanh(product * gamma + offset))
    if kind == "RBF":
        distance = np.sum(x * x, 1)[:, None] + np.sum(vectors * vectors, 1) - 2 * product
        return np.asarray(np.exp(-gamma * np.maximum(distance, 0)))
    raise ExecutionError(f"the kernel '{kind}' is unknown", why="known are LINEAR, POLY, RBF and SIGMOID")


def _pairs(similar: Array, weights: Array, counts: Sequence[int], rho: Array) -> Array:
    """The decision value of each pair of classes (0,1), (0,2), …, (1,2), …"""
    edges = np.concatenate(([0], np.cumsum(counts)))
    parts = [slice(int(a), int(b)) for a, b in pairwise(edges)]
    values = [
        similar[:, parts[i]] @ weights[j - 1, parts[i]] + similar[:, parts[j]] @ weights[i, parts[j]]
        for i in range(len(counts))
        for j in range(i + 1, len(counts))
    ]
    return np.stack(values, 1) + rho


def _votes(values: Array, classes: int) -> Array:
    votes = np.zeros((values.shape[0], classes), np.int64)
    pair = 0
    for i in range(classes):
        for j in range(i + 1, classes):
            first = values[:, pair] > 0
            votes[:, i] += first
            votes[:, j] += ~first
            pair += 1
    return votes


def _probabilities(values: Array, a: Array, b: Array, classes: int) -> Array:
    """Class probabilities from those of the pairs (Wu, Lin, Weng 2004, second approach), all rows at once."""
    first = 1 / (1 + np.exp(np.clip(values * a + b, -80, 80)))
    first = np.clip(first, 1e-7, 1 - 1e-7)
    rows = values.shape[0]
    r = np.zeros((rows, classes, classes))
    upper = np.triu_indices(classes, 1)
    r[:, upper[0], upper[1]] = first
    r[:, upper[1], upper[0]] = 1 - first
    q = -np.swapaxes(r, 1, 2) * r
    diagonal = np.arange(classes)
    q[:, diagonal, diagonal] = np.sum(np.square(r), axis=1)
    p = np.full((rows, classes), 1 / classes)
    for _ in range(max(_ROUNDS, classes)):
        qp = np.einsum("nij,nj->ni", q, p)
        pqp = np.sum(p * qp, axis=1)
        active = np.max(np.abs(qp - pqp[:, None]), axis=1) >= _PRECISION / classes
        if not active.any():
            break
        for t in range(classes):
            # rows that have converged take steps of 0
            step = np.where(active, (pqp - qp[:, t]) / q[:, t, t], 0.0)
            pqp = (pqp + step * (step * q[:, t, t] + 2 * qp[:, t])) / np.square(1 + step)
            qp = (qp + step[:, None] * q[:, t]) / (1 + step)[:, None]
            p[:, t] += step
            p /= (1 + step)[:, None]
    return p
