"""GroupQueryAttention: fewer heads for keys and values than for queries, and a cache of keys and values."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError
from exec.kernels.contrib.activation import DOMAIN
from exec.kernels.contrib.attention import refuse
from exec.kernels.nn.attention import rotary_embedding, split_heads
from exec.kernels.registry import kernel
from exec.kernels.widen import widened


@kernel("GroupQueryAttention", domain=DOMAIN)
@widened
def group_query_attention(
    query: Array,
    key: Array | None = None,
    value: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    seqlens_k: Array | None = None,
    total_sequence_length: Array | None = None,
    cos_cache: Array | None = None,
    sin_cache: Array | None = None,
    position_ids: Array | None = None,
    attention_bias: Array | None = None,
    head_sink: Array | None = None,
    k_scale: Array | None = None,
    v_scale: Array | None = None,
    q_norm_weight: Array | None = None,
    k_norm_weight: Array | None = None,
    query_seqlens: Array | None = None,
    /,
    *,
    causal: int = 1,
    do_rotary: int = 0,
    k_norm_epsilon: float | None = None,
    k_quant_type: str = "NONE",
    kv_cache_bit_width: int = 0,
    kv_num_heads: int,
    local_window_size: int = -1,
    num_heads: int,
    q_norm_epsilon: float | None = None,
    qk_norm_epsilon: float = 1e-6,
    qk_output: int = 0,
    rotary_interleaved: int = 0,
    scale: float | None = None,
    sliding_window_cache: int = 0,
    smooth_softmax: int = -1,
    softcap: float = 0.0,
    v_quant_type: str = "NONE",
) -> tuple[Array, Array, Array]:
    """Attend to the cached and the new keys, each group of query heads to one key head; and the cache with the new ones.

    Shapes  query (batch, length, heads · size), or with keys and values behind it; past (batch, key heads, room, size);
            seqlens_k (batch): one less than the keys of each entry, new ones included.
    """
    refuse(
        "GroupQueryAttention",
        (
            ("k_quant_type", k_quant_type != "NONE" or v_quant_type != "NONE"),
            ("sliding_window_cache", sliding_window_cache),
            ("qk_output", qk_output),
            ("q_norm_weight", q_norm_weight is not None),
            ("query_seqlens", query_seqlens is not None),
        ),
    )
    if seqlens_k is None or total_sequence_length is None:
        raise ExecutionError("GroupQueryAttention needs seqlens_k and total_sequence_length")
    q, k, v = _split(query, key, value, num_heads, kv_num_heads)
    batch, _, length, size = q.shape
    longest = int(total_sequence_length.reshape(-1)[0])
    lengths = seqlens_k.reshape(-1).astype(np.int64) + 1
    # the first call of a sequence fills the cache from its start, whatever lies there
    before = np.zeros(batch, np.int64) if length == longest else lengths - length
    if do_rotary:
        if cos_cache is None or sin_cache is None:
            raise ExecutionError("GroupQueryAttention rotates, but has no cos_cache and sin_cache")
        places = np.clip(before[:, None] + np.arange(length), 0, cos_cache.shape[0] - 1)
        places = position_ids if position_ids is not None else places
        width = int(2 * cos_cache.shape[1])
        options = {"interleaved": rotary_interleaved, "rotary_embedding_dim": width}
        q = rotary_embedding(q, cos_cache, sin_cache, places, **options)
        k = rotary_embedding(k, cos_cache, sin_cache, places, **options)
    room = longest if past_key is None else max(past_key.shape[2], longest)
    keys, values = _cached(past_key, k, before, room), _cached(past_value, v, before, room)
    seen = keys[:, :, :longest], values[:, :, :longest]
    groups = num_heads // kv_num_heads
    grouped = q.reshape(batch, kv_num_heads, groups * length, size) * q.dtype.type(scale or size**-0.5)
    scores = np.matmul(grouped, seen[0].swapaxes(2, 3)).reshape(batch, num_heads, length, longest)
    if softcap:
        scores = np.tanh(scores / q.dtype.type(softcap)) * q.dtype.type(softcap)
    if attention_bias is not None:
        scores = scores + attention_bias[..., :longest]
    last = before[:, None] + np.arange(length) if causal else np.repeat(lengths[:, None] - 1, length, 1)
    shares = _softmax(scores, _visible(last, longest, local_window_size), _sink(head_sink, smooth_softmax, scores))
    y = np.matmul(shares.reshape(batch, kv_num_heads, groups * length, longest), seen[1])
    y = y.reshape(batch, num_heads, length, -1).transpose(0, 2, 1, 3).reshape(batch, length, -1)
    return np.asarray(y), keys, values


def _split(
    query: Array, key: Array | None, value: Array | None, heads: int, kv_heads: int
) -> tuple[Array, Array, Array]:
    if key is not None and value is not None:
        return split_heads(query, heads), split_heads(key, kv_heads), split_heads(value, kv_heads)
    together = split_heads(query, heads + 2 * kv_heads)
    return together[:, :heads], together[:, heads : heads + kv_heads], together[:, heads + kv_heads :]


def _cached(past: Array | None, new: Array, before: Array, room: int) -> Array:
    """The cache: each entry's old steps, then its new ones, then zeros."""
    cache = np.zeros((*new.shape[:2], room, new.shape[3]), new.dtype)
    for entry, start in enumerate(before.tolist()):
        if past is not None:
            cache[entry, :, :start] = past[entry, :, :start]
        end = min(start + new.shape[2], room)
        cache[entry, :, start:end] = new[entry, :, : end - start]
    return cache


def _visible(last: Array, keys: int, window: int) -> Array:
    """(batch, 1, length, keys): the keys up to `last`, at most the `window` latest of them."""
    place = np.arange(keys)
    seen = place <= last[..., None]
    if window >= 0:
        seen &= place > last[..., None] - window
    return np.asarray(seen[:, None])


def _sink(head_sink: Array | None, smooth: int, scores: Array) -> Array | None:
    """A logit per head that takes a share of the softmax and gives nothing."""
    if head_sink is not None:
        return head_sink.reshape(1, -1, 1, 1).astype(scores.dtype)
    return np.zeros((1, 1, 1, 1), scores.dtype) if smooth > 0 else None


def _softmax(scores: Array, seen: Array, sink: Array | None) -> Array:
    hidden = np.where(seen, scores, scores.dtype.type(-np.inf))
    peak = np.max(hidden, axis=3, keepdims=True)
    peak = np.maximum(peak, sink) if sink is not None else np.where(np.isneginf(peak), 0, peak)
    powers = np.exp(hidden - peak)
    total = np.sum(powers, axis=3, keepdims=True)
    total = total if sink is None else total + np.exp(sink - peak)
    return np.asarray(powers / np.where(total == 0, 1, total), scores.dtype)
