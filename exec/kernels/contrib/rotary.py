"""Rotary positions as onnxruntime defines them."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.kernels.contrib.activation import DOMAIN
from exec.kernels.nn import attention
from exec.kernels.registry import kernel
from exec.kernels.widen import widened


@kernel("RotaryEmbedding", domain=DOMAIN)
@widened
def rotary_embedding(
    x: Array,
    position_ids: Array,
    cos_cache: Array,
    sin_cache: Array,
    /,
    *,
    interleaved: int = 0,
    is_packed_batching: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> Array:
    """Rotate pairs of features by an angle that grows with the position.

    Shapes  x (batch, length, hidden) or (batch, heads, length, size); position_ids (batch, length), or one position that
            the first step has.
    """
    length = x.shape[1] if x.ndim == 3 else x.shape[2]
    places = position_ids
    if places.size == 1 and places.ndim == 1:
        places = np.broadcast_to(places.reshape(()) + np.arange(length), (x.shape[0], length))
    heads = num_heads or (x.shape[2] // (2 * cos_cache.shape[1]) if x.ndim == 3 else 0)
    y = attention.rotary_embedding(
        x,
        cos_cache,
        sin_cache,
        places,
        interleaved=interleaved,
        num_heads=heads,
        rotary_embedding_dim=rotary_embedding_dim,
    )
    return y if scale == 1.0 else np.asarray(y * y.dtype.type(scale))
