"""Attention and MultiHeadAttention as onnxruntime defines them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exec.arrays import Array
from exec.errors import ExecutionError, UnsupportedOp
from exec.kernels.contrib.activation import DOMAIN
from exec.kernels.contrib.integer import scaled_product
from exec.kernels.math.softmax import softmax
from exec.kernels.nn.attention import split_heads
from exec.kernels.registry import kernel
from exec.kernels.widen import widened

_MASKED = -10000.0


def refuse(op: str, options: Sequence[tuple[str, object]]) -> None:
    """Say which option of an op is not run here."""
    for name, value in options:
        if value:
            raise UnsupportedOp(
                f"{op} with `{name}` is not run by the embedded engine", hint="`--engine onnxruntime` may run it"
            )


def attended(
    q: Array, k: Array, v: Array, *, scale: float | None, bias: Array | None, causal: bool
) -> tuple[Array, Array]:
    """softmax(q kᵀ · scale + bias) v with heads merged again, and the softmax's input.

    Shapes  q (batch, heads, length, size), k (batch, heads, keys, size), v (batch, heads, keys, size') →
            (batch, length, heads · size').
    """
    batch, heads, length, size = q.shape
    keys = k.shape[2]
    scores = np.matmul(q * q.dtype.type(scale or size**-0.5), k.swapaxes(2, 3))
    if bias is not None:
        scores = scores + bias
    if causal:
        ahead = np.arange(keys) > np.arange(length)[:, None] + (keys - length)
        scores = np.where(ahead, scores.dtype.type(np.finfo(np.float32).min), scores)
    y = np.matmul(softmax(scores), v)
    return y.transpose(0, 2, 1, 3).reshape(batch, length, heads * v.shape[3]), scores


def added(*parts: Array | None) -> Array | None:
    """The sum of those that are there."""
    total: Array | None = None
    for part in parts:
        if part is not None:
            total = part if total is None else np.asarray(total + part)
    return total


def masking(mask: Array | None, batch: int, length: int, keys: int, filter_value: float, like: Array) -> Array | None:
    """What a mask adds to the scores, as (batch, 1, 1 or length, keys).

    A mask is 1 for keys to see: (batch, keys), (batch, length, keys) or (batch, 1, most, most); or says how many keys are
    seen: (batch), or (2 · batch) with the ends first and then the starts.
    """
    if mask is None:
        return None
    place = np.arange(keys)
    if mask.ndim == 1 and mask.size == batch:
        seen = place < mask[:, None, None, None]
    elif mask.ndim == 1 and mask.size == 2 * batch:
        end, start = mask[:batch, None, None, None], mask[batch:, None, None, None]
        seen = (place < end) & (place >= start)
    elif mask.ndim == 2 and mask.shape == (batch, keys):
        seen = mask[:, None, None, :] > 0
    elif mask.ndim == 3:
        seen = mask[:, None] > 0
    elif mask.ndim == 4:
        seen = mask[:, :, keys - length : keys, :keys] > 0
    else:
        raise UnsupportedOp(
            f"an attention mask of shape {list(mask.shape)} is not run by the embedded engine",
            why=f"the batch is {batch}, there are {keys} keys",
        )
    return np.asarray(np.where(seen, like.dtype.type(0), like.dtype.type(filter_value)))


@kernel("Attention", domain=DOMAIN)
@widened
def attention(
    x: Array,
    weights: Array,
    bias: Array | None = None,
    mask_index: Array | None = None,
    past: Array | None = None,
    attention_bias: Array | None = None,
    past_sequence_length: Array | None = None,
    /,
    *,
    do_rotary: int = 0,
    mask_filter_value: float = _MASKED,
    num_heads: int,
    past_present_share_buffer: int = 0,
    qkv_hidden_sizes: Sequence[int] | None = None,
    rotary_embedding_dim: int = 0,
    scale: float | None = None,
    unidirectional: int = 0,
) -> tuple[Array, Array]:
    """Project x to queries, keys and values, attend, and keep keys and values for the next call.

    Shapes  x (batch, length, in), weights (in, q + k + v), past and present (2, batch, heads, keys, size).
    """
    refuse("Attention", (("do_rotary", do_rotary), ("past_present_share_buffer", past_present_share_buffer)))
    projected = np.matmul(x, weights)
    if bias is not None:
        projected = projected + bias
    return _self_attention(
        projected,
        mask_index,
        past,
        attention_bias,
        num_heads,
        qkv_hidden_sizes,
        mask_filter_value,
        scale,
        unidirectional,
    )


@kernel("QAttention", domain=DOMAIN)
def quantized_attention(
    x: Array,
    weight: Array,
    bias: Array,
    input_scale: Array,
    weight_scale: Array,
    mask_index: Array | None = None,
    input_zero_point: Array | None = None,
    weight_zero_point: Array | None = None,
    past: Array | None = None,
    /,
    *,
    do_rotary: int = 0,
    mask_filter_value: float = _MASKED,
    num_heads: int,
    past_present_share_buffer: int = 0,
    scale: float | None = None,
    unidirectional: int = 0,
) -> tuple[Array, Array]:
    """Attention whose projection is a product of integers."""
    refuse("QAttention", (("do_rotary", do_rotary), ("past_present_share_buffer", past_present_share_buffer)))
    projected = scaled_product(x, weight, input_scale, weight_scale, input_zero_point, weight_zero_point) + bias
    return _self_attention(projected, mask_index, past, None, num_heads, None, mask_filter_value, scale, unidirectional)


def _self_attention(
    projected: Array, mask: Array | None, past: Array | None, attention_bias: Array | None, heads: int,
    sizes: Sequence[int] | None, filter_value: float, scale: float | None, unidirectional: int,
) -> tuple[Array, Array]:  # fmt: skip
    batch, length, width = projected.shape
    q_size, k_size, _ = sizes or [width // 3] * 3
    q, k, v = (split_heads(part, heads) for part in np.split(projected, [q_size, q_size + k_size], axis=2))
    if past is not None:
        k, v = np.concatenate((past[0], k), 2), np.concatenate((past[1], v), 2)
    seen = masking(mask, batch, length, k.shape[2], filter_value, projected)
    y, _ = attended(q, k, v, scale=scale, bias=added(seen, attention_bias), causal=bool(unidirectional))
    # keys and values of different sizes cannot be stacked: there is no present then
    return y, np.stack((k, v)) if k.shape == v.shape else np.zeros(0, y.dtype)


@kernel("MultiHeadAttention", domain=DOMAIN)
@widened
def multi_head_attention(
    query: Array,
    key: Array | None = None,
    value: Array | None = None,
    bias: Array | None = None,
    key_padding_mask: Array | None = None,
    attention_bias: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    past_sequence_length: Array | None = None,
    cache_indirection: Array | None = None,
    /,
    *,
    mask_filter_value: float = _MASKED,
    num_heads: int,
    scale: float | None = None,
    unidirectional: int = 0,
) -> tuple[Array, Array, Array, Array]:
    """Attend with projected queries, keys and values; keys and values with those of the past; the scores.

    Shapes  query (batch, length, hidden), or with keys and values in it (batch, length, heads, 3, size); key and value
            (batch, keys, hidden) or (batch, heads, keys, size), or together (batch, keys, heads, 2, size).
    """
    if past_sequence_length is not None or cache_indirection is not None:
        refuse("MultiHeadAttention", (("past_sequence_length", True),))
    q, k, v = _heads(query, key, value, bias, num_heads)
    if past_key is not None and past_value is not None:
        k, v = np.concatenate((past_key, k), 2), np.concatenate((past_value, v), 2)
    seen = masking(key_padding_mask, q.shape[0], q.shape[2], k.shape[2], mask_filter_value, q)
    y, scores = attended(q, k, v, scale=scale, bias=added(seen, attention_bias), causal=bool(unidirectional))
    return y, k, v, scores


def _heads(
    query: Array, key: Array | None, value: Array | None, bias: Array | None, heads: int
) -> tuple[Array, Array, Array]:
    if query.ndim == 5:
        q, k, v = query.transpose(3, 0, 2, 1, 4)
    elif key is not None and key.ndim == 5:
        k, v = key.transpose(3, 0, 2, 1, 4)
        q = split_heads(query, heads)
    elif key is not None and value is not None:
        q = split_heads(query, heads)
        k, v = (part if part.ndim == 4 else split_heads(part, heads) for part in (key, value))
    else:
        raise ExecutionError("MultiHeadAttention has queries, but no keys and values")
    if bias is None:
        return q, k, v
    hidden = heads * q.shape[3]
    parts = [part.reshape(1, heads, 1, -1) for part in np.split(bias, [hidden, 2 * hidden])]
    if key is not None and key.ndim == 4:
        # keys and values of a cache have their bias already
        return q + parts[0], k, v
    return q + parts[0], k + parts[1], v + parts[2]
