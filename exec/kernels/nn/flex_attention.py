"""Attention with subgraphs that change the scores and the probabilities."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from exec.arrays import Array
from exec.dtypes import numpy_dtype
from exec.errors import ExecutionError
from exec.kernels.registry import Context, kernel
from exec.kernels.widen import NARROW, wide


@kernel("FlexAttention", domain="ai.onnx.preview")
def flex_attention(
    q: Array,
    k: Array,
    v: Array,
    /,
    *,
    prob_mod: Any = None,
    scale: float | None = None,
    score_mod: Any = None,
    softmax_precision: int | None = None,
    context: Context,
) -> Array:
    """prob_mod(softmax(score_mod(Q·Kᵀ·scale)))·V per head.

    Shapes  q (B, Hq, L, D); k (B, Hkv, S, D); v (B, Hkv, S, E); the result (B, Hq, L, E).
    Types   scores and probabilities in `softmax_precision`, by default float32 or wider.
    Spec    ONNX FlexAttention-1 of ai.onnx.preview.
    """
    if q.shape[1] % k.shape[1]:
        raise ExecutionError(f"{q.shape[1]} query heads are not divisible by {k.shape[1]} key heads")
    groups = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, groups, axis=1), np.repeat(v, groups, axis=1)
    factor = np.asarray(np.sqrt(np.float32(1 / np.sqrt(q.shape[3]) if scale is None else scale)), q.dtype)
    scores = np.matmul(wide(q * factor), wide(k * factor).swapaxes(2, 3))
    precise = np.dtype(np.float32) if q.dtype in NARROW else q.dtype
    kind = precise if softmax_precision is None else np.dtype(cast(Any, numpy_dtype(softmax_precision)))
    scores = scores.astype(q.dtype).astype(kind)
    if score_mod is not None:
        scores = np.asarray(context.run(score_mod, [scores])[0], kind)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    if prob_mod is not None:
        weights = np.asarray(context.run(prob_mod, [weights])[0], kind)
    return np.asarray(np.matmul(wide(weights), wide(v.astype(kind))).astype(v.dtype))
