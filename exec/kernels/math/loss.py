"""Losses over classes along axis 1."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.math.softmax import log_softmax
from exec.kernels.registry import kernel
from exec.kernels.widen import widened


@kernel("NegativeLogLikelihoodLoss", since=12)
@widened
def negative_log_likelihood_loss(
    x: Array, target: Array, weight: Array | None = None, /, *, ignore_index: int | None = None, reduction: str = "mean"
) -> Array:
    """-weight[c] · x[n, c, …] with c = target[n, …]; targets equal to `ignore_index` count nothing.

    Shapes  x (n, classes, d…), target (n, d…), weight (classes) → (n, d…), or 0-d for reduction "mean" (by the sum of
            the weights) and "sum".
    """
    if reduction not in ("none", "mean", "sum"):
        raise ExecutionError(f"the reduction '{reduction}' is unknown", why="known are none, mean and sum")
    counted = np.ones(target.shape, np.bool_) if ignore_index is None else target != ignore_index
    chosen = np.where(counted, target, 0)
    picked = np.take_along_axis(x, np.expand_dims(chosen, 1), 1).squeeze(1)
    share = counted.astype(x.dtype) if weight is None else np.take(weight, chosen) * counted
    loss = -picked * share
    if reduction == "none":
        return np.asarray(loss, x.dtype)
    total = np.sum(loss)
    return np.asarray(total / np.sum(share) if reduction == "mean" else total, x.dtype)


@kernel("SoftmaxCrossEntropyLoss", since=12)
@widened
def softmax_cross_entropy_loss(
    scores: Array,
    labels: Array,
    weights: Array | None = None,
    /,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> tuple[Array, Array]:
    """The negative log-likelihood of log_softmax(scores), and that logarithm itself."""
    log_prob = log_softmax(scores, axis=1)
    loss = negative_log_likelihood_loss(log_prob, labels, weights, ignore_index=ignore_index, reduction=reduction)
    return loss, log_prob
