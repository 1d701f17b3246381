"""Scaled dot-product attention, its positional rotation, and its linear cousin."""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np

from exec.arrays import Array
from exec.dtypes import numpy_dtype
from exec.errors import ExecutionError
from exec.kernels.registry import kernel
from exec.kernels.widen import wide, widened


@kernel("Attention", since=23)
def attention(
    q: Array,
    k: Array,
    v: Array,
    attn_mask: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    nonpad_kv_seqlen: Array | None = None,
    /,
    *,
    is_causal: int = 0,
    kv_num_heads: int | None = None,
    left_window_size: int = -1,
    q_num_heads: int | None = None,
    qk_matmul_output_mode: int = 0,
    right_window_size: int = -1,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
    n_outputs: int = 1,
) -> tuple[Array, ...]:
    """softmax(Q·Kᵀ·scale + bias)·V per head.

    Shapes  q (B, Hq, L, D) or (B, L, Hq·D); k, v (B, Hkv, S, D) or (B, S, Hkv·D); the result like q.
    Types   narrow floats are computed in float32 and rounded after each product, as the function body does.
    Spec    ONNX Attention-23, -24, -25. A row with no key to attend to is zero, not NaN.
    """
    flat, kind = q.ndim == 3, q.dtype
    if flat:
        if not q_num_heads or not kv_num_heads:
            raise ExecutionError("three-dimensional inputs need q_num_heads and kv_num_heads")
        q, k, v = split_heads(q, q_num_heads), split_heads(k, kv_num_heads), split_heads(v, kv_num_heads)
    if past_key is not None and past_value is not None:
        k, v = np.concatenate((past_key, k), axis=2), np.concatenate((past_value, v), axis=2)
    present = (k, v)
    q, k, v = wide(q), wide(k), wide(v)
    before = 0 if past_key is None else past_key.shape[2]
    offset = np.asarray(before) if nonpad_kv_seqlen is None else nonpad_kv_seqlen.reshape(-1, 1, 1, 1) - q.shape[2]
    limits = (left_window_size, 0 if is_causal else right_window_size)
    bias = _bias(q, k.shape[2], attn_mask, nonpad_kv_seqlen, limits, offset)
    groups = q.shape[1] // k.shape[1]
    factor = _step(np.asarray(np.sqrt(1 / np.sqrt(q.shape[3]) if scale is None else scale), q.dtype), kind)
    b, heads, length, _ = q.shape
    rows = _step(q * factor, kind).reshape(b, k.shape[1], groups * length, -1)
    keys = _step(k * factor, kind).swapaxes(2, 3)
    scores = _step(np.matmul(rows, keys), kind).reshape(b, heads, length, -1)
    shown = scores
    if softcap > 0:
        scores = _step(np.tanh(_step(scores / scores.dtype.type(softcap), kind)) * scores.dtype.type(softcap), kind)
        shown = scores if qk_matmul_output_mode == 1 else shown
    if bias is not None:
        scores = _step(scores + bias, kind)
        shown = scores if qk_matmul_output_mode == 2 else shown
    precision = kind if softmax_precision is None else np.dtype(cast(Any, numpy_dtype(softmax_precision)))
    weights = _step(_softmax(scores, bias, precision), kind)
    shown = weights if qk_matmul_output_mode == 3 else shown
    y = np.matmul(weights.reshape(b, k.shape[1], groups * length, -1), v).reshape(b, heads, length, -1)
    if flat:
        y = y.transpose(0, 2, 1, 3).reshape(b, length, -1)
    return (y.astype(kind, copy=False), *present, shown.astype(kind, copy=False))[:n_outputs]


def _step(x: Array, kind: np.dtype[Any]) -> Array:
    """`x` as a value of type `kind`, still in the type it is computed in."""
    return x if x.dtype == kind else x.astype(kind).astype(x.dtype)


def split_heads(x: Array, heads: int) -> Array:
    """(B, L, heads·D) to (B, heads, L, D)."""
    if x.shape[2] % heads:
        raise ExecutionError(f"{x.shape[2]} features are not divisible by {heads} heads")
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(0, 2, 1, 3)


def _bias(
    q: Array,
    keys: int,
    mask: Array | None,
    lengths: Array | None,
    limits: tuple[int, int],
    offset: Array,
) -> Array | None:
    """What is added to the scores: the mask, and −∞ outside the window.

    limits  keys back and keys ahead that are seen; −1 is no limit
    """
    zero, never = q.dtype.type(0), q.dtype.type(-np.inf)
    bias: Array | None = None
    if mask is not None:
        bias = np.where(mask, zero, never) if mask.dtype == np.bool_ else mask.astype(q.dtype)
        missing = keys - bias.shape[-1]
        if missing > 0:
            bias = np.concatenate((bias, np.full((*bias.shape[:-1], missing), never)), axis=-1)
    back, ahead = limits
    allowed: Array | None = None
    if back >= 0 or ahead >= 0:
        distance = (np.arange(q.shape[2])[:, None] + offset) - np.arange(keys)
        allowed = (distance >= -ahead) if ahead >= 0 else np.ones(distance.shape, np.bool_)
        if back >= 0:
            allowed &= distance <= back
    if lengths is not None:
        filled = np.arange(keys) < lengths.reshape(-1, 1, 1, 1)
        allowed = filled if allowed is None else allowed & filled
    if allowed is not None:
        window = np.where(allowed, zero, never)
        bias = window if bias is None else bias + window
    return bias


def _softmax(scores: Array, bias: Array | None, kind: np.dtype[Any]) -> Array:
    """Over the last axis, each step a value of type `kind`; a row whose bias forbids every key is zero."""
    if kind.itemsize > scores.dtype.itemsize:
        scores = scores.astype(kind)
    high = scores.max(axis=-1, keepdims=True)
    weights = _step(np.exp(_step(scores - np.where(np.isneginf(high), scores.dtype.type(0), high), kind)), kind)
    total = _row_sums(weights, kind)
    weights /= np.where(total == 0, scores.dtype.type(1), total)
    if bias is not None:
        forbidden = np.isneginf(bias.max(axis=-1, keepdims=True))
        if forbidden.any():
            weights = np.where(forbidden, scores.dtype.type(0), weights)
    return weights


SHORT_ROW = 32
"""Keys up to which a narrow softmax adds up in its own type."""


def _row_sums(weights: Array, kind: np.dtype[Any]) -> Array:
    """Σ over the last axis as a value of type `kind`.

    The specification's softmax adds up in `kind`. For a narrow type that shows in short rows, and in long ones it loses
    everything (in bfloat16, 256 + 1 = 256): those are added up in float32.
    """
    if kind != weights.dtype and weights.shape[-1] <= SHORT_ROW:
        return np.asarray(weights.astype(kind).sum(axis=-1, keepdims=True), weights.dtype)
    return _step(weights.sum(axis=-1, keepdims=True), kind)


@kernel("RotaryEmbedding", since=23)
@widened
def rotary_embedding(
    x: Array,
    cos_cache: Array,
    sin_cache: Array,
    position_ids: Array | None = None,
    /,
    *,
    interleaved: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
) -> Array:
    """Rotate pairs of features by an angle that grows with the position.

    Shapes  x (B, H, L, D) or (B, L, H·D); caches (positions, R/2) with position_ids (B, L), else (B, L, R/2).
    Spec    ONNX RotaryEmbedding-23. Pairs are halves apart, or neighbours when interleaved.
    """
    heads = split_heads(x, num_heads) if x.ndim == 3 else x
    size = rotary_embedding_dim or heads.shape[-1]
    cos, sin = (c if position_ids is None else c[position_ids] for c in (cos_cache, sin_cache))
    if cos.shape[-1] * 2 != size:
        raise ExecutionError(f"the caches hold {cos.shape[-1]} angles; {size} rotated features need {size // 2}")
    y = heads.copy()
    rotated = y[..., :size]
    low, high = (slice(0, None, 2), slice(1, None, 2)) if interleaved else (slice(0, size // 2), slice(size // 2, None))
    first, second = heads[..., :size][..., low], heads[..., :size][..., high]
    cos, sin = cos[:, None], sin[:, None]
    rotated[..., low] = cos * first - sin * second
    rotated[..., high] = sin * first + cos * second
    return y.transpose(0, 2, 1, 3).reshape(x.shape) if x.ndim == 3 else y


@kernel("LinearAttention", since=27)
def linear_attention(
    query: Array,
    key: Array,
    value: Array,
    past_state: Array | None = None,
    decay: Array | None = None,
    beta: Array | None = None,
    /,
    *,
    kv_num_heads: int,
    q_num_heads: int,
    chunk_size: int = 64,
    scale: float = 0.0,
    update_rule: Literal["linear", "gated", "delta", "gated_delta"] = "gated_delta",
    n_outputs: int = 1,
) -> tuple[Array, ...]:
    """A recurrent state S per head instead of a softmax: S ← exp(g)·S + β·k⊗(v − Sᵀk), o = scale·qᵀS.

    Shapes  query (B, T, Hq·D), key (B, T, H·D), value (B, T, H·E); states (B, H, D, E).
    Spec    ONNX LinearAttention-27. The state is kept in float32; `chunk_size` is a hint that changes nothing here.
    """
    gated, corrected = update_rule.startswith("gated"), update_rule.endswith("delta")
    if gated != (decay is not None) or corrected != (beta is not None):
        wants = [f"{'needs' if yes else 'forbids'} {name}" for yes, name in ((gated, "decay"), (corrected, "beta"))]
        raise ExecutionError(f"update_rule '{update_rule}' {' and '.join(wants)}")
    if q_num_heads % kv_num_heads:
        raise ExecutionError(f"{q_num_heads} query heads are not divisible by {kv_num_heads} key heads")
    f32 = np.float32
    q = split_heads(query, q_num_heads).astype(f32)
    k, v = split_heads(key, kv_num_heads).astype(f32), split_heads(value, kv_num_heads).astype(f32)
    b, heads, length, features = k.shape
    state = np.zeros((b, heads, features, v.shape[3]), f32) if past_state is None else past_state.astype(f32)
    keep = np.exp(_per_head(decay, heads)) if decay is not None else None
    rate = _per_head(beta, beta.shape[2] if beta.shape[2] == 1 else heads) if beta is not None else None
    out = np.empty((b, q_num_heads, length, v.shape[3]), f32)
    for t in range(length):  # each step needs the state before it
        if keep is not None:
            state = state * keep[:, :, t, :, None]
        write = v[:, :, t]
        if rate is not None:
            write = rate[:, :, t] * (write - np.matmul(k[:, :, t, None], state)[:, :, 0])
        state = state + k[:, :, t, :, None] * write[:, :, None, :]
        rows = q[:, :, t].reshape(b, heads, q_num_heads // heads, features)
        out[:, :, t] = np.matmul(rows, state).reshape(b, q_num_heads, -1)
    out *= f32(scale or 1 / np.sqrt(features))
    y = out.transpose(0, 2, 1, 3).reshape(b, length, -1).astype(query.dtype)
    return (y, state.astype(query.dtype if past_state is None else past_state.dtype))[:n_outputs]


def _per_head(x: Array, heads: int) -> Array:
    """(B, T, heads) or (B, T, heads·D) to float32 (B, heads, T, 1 or D)."""
    return split_heads(x, heads).astype(np.float32)
