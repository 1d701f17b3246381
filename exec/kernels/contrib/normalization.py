"""Normalizations with the additions fused into them."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.kernels.contrib.activation import DOMAIN
from exec.kernels.math.softmax import softmax_1
from exec.kernels.nn.normalization import layer_normalization
from exec.kernels.registry import kernel
from exec.kernels.widen import wide, widened


@kernel("SimplifiedLayerNormalization", domain=DOMAIN)
@kernel("SimplifiedLayerNormalization")
def simplified_layer_normalization(
    x: Array, scale: Array, /, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> tuple[Array, Array]:
    """x / √(mean(x²) + epsilon) · scale over the axes from `axis` on; and the reciprocal of the root.

    onnxruntime puts this op into the domain ai.onnx, where the specification does not know it.
    """
    real = wide(x)
    axes = tuple(range(axis % x.ndim, x.ndim))
    inverse = 1 / np.sqrt(np.mean(np.square(real), axis=axes, keepdims=True) + real.dtype.type(epsilon))
    return np.asarray(real * inverse * wide(scale)).astype(scale.dtype), np.asarray(inverse)


@kernel("SkipLayerNormalization", domain=DOMAIN)
@widened
def skip_layer_normalization(
    x: Array,
    skip: Array,
    gamma: Array,
    beta: Array | None = None,
    bias: Array | None = None,
    /,
    *,
    epsilon: float = 1e-12,
) -> tuple[Array, Array, Array, Array]:
    """LayerNormalization of x + skip + bias over the last axis; its mean, its 1/σ, and that sum itself."""
    total = _summed(x, skip, bias)
    y, mean, inverse = layer_normalization(total, gamma, beta, axis=-1, epsilon=epsilon, n_outputs=3)
    return y, mean, inverse, total


@kernel("SkipSimplifiedLayerNormalization", domain=DOMAIN)
@widened
def skip_simplified_layer_normalization(
    x: Array, skip: Array, gamma: Array, bias: Array | None = None, /, *, epsilon: float = 1e-12
) -> tuple[Array, Array, Array, Array]:
    """SimplifiedLayerNormalization of x + skip + bias; outputs as of SkipLayerNormalization, the mean being zero."""
    total = _summed(x, skip, bias)
    y, inverse = simplified_layer_normalization(total, gamma, epsilon=epsilon)
    return y, np.zeros_like(inverse), inverse, total


def _summed(x: Array, skip: Array, bias: Array | None) -> Array:
    total = np.asarray(x + skip)
    return total if bias is None else np.asarray(total + bias)


@kernel("EmbedLayerNormalization", domain=DOMAIN)
def embed_layer_normalization(
    input_ids: Array,
    segment_ids: Array | None,
    word_embedding: Array,
    position_embedding: Array,
    segment_embedding: Array | None,
    gamma: Array,
    beta: Array,
    mask: Array | None = None,
    position_ids: Array | None = None,
    /,
    *,
    epsilon: float = 1e-12,
    mask_index_type: int | None = None,
) -> tuple[Array, Array, Array]:
    """LayerNormalization of word + position + segment embeddings; how many ids the mask keeps; the sum itself.

    Shapes  ids (batch, length) → (batch, length, hidden), (batch), (batch, length, hidden).
    """
    places = np.arange(input_ids.shape[1]) if position_ids is None else position_ids
    total = wide(np.take(word_embedding, input_ids, 0)) + wide(np.take(position_embedding, places, 0))
    if segment_ids is not None and segment_embedding is not None:
        total = total + wide(np.take(segment_embedding, segment_ids, 0))
    y = np.asarray(layer_normalization(total, wide(gamma), wide(beta), axis=-1, epsilon=epsilon))
    kept = np.zeros(input_ids.shape[0], np.int32) if mask is None else np.asarray(np.sum(mask, 1), np.int32)
    return y.astype(gamma.dtype), kept, total.astype(gamma.dtype)


@kernel("BiasSoftmax", domain=DOMAIN)
@widened
def bias_softmax(x: Array, bias: Array, /, *, axis: int = 1, is_inner_broadcast: int) -> Array:
    """Softmax of x + bias over all axes from `axis` on; the bias is broadcast by its shape, with ones where x is longer.

    A bias of lower rank lacks x's axes just before `axis` (is_inner_broadcast=1) or x's first ones.
    """
    missing = x.ndim - bias.ndim
    if missing and is_inner_broadcast:
        kept = axis % x.ndim - missing
        bias = bias.reshape(bias.shape[:kept] + (1,) * missing + bias.shape[kept:])
    return softmax_1(np.asarray(x + bias), axis=axis)
