"""Weights of few bits with a scale per block: MatMulNBits and GatherBlockQuantized."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.kernels.contrib.activation import DOMAIN
from exec.kernels.contrib.attention import refuse
from exec.kernels.registry import kernel
from exec.kernels.widen import wide, widened


def unpacked(packed: Array, bits: int) -> Array:
    """The numbers in the bytes of the last axis, low bits first."""
    if bits == 8:
        return packed
    if bits == 4:
        return np.stack((packed & 15, packed >> 4), -1).reshape(*packed.shape[:-1], -1)
    flags = np.unpackbits(packed, axis=-1, bitorder="little")
    count = flags.shape[-1] // bits
    fields = flags[..., : count * bits].reshape(*packed.shape[:-1], count, bits)
    return np.asarray(np.packbits(fields, axis=-1, bitorder="little"))[..., 0]


def weight(
    packed: Array, scales: Array, zero_points: Array | None, bits: int, block_size: int, rows: int, columns: int
) -> Array:
    """The float32 matrix (rows, columns) that MatMulNBits stores as (rows, blocks, bytes)."""
    blocks = -(-columns // block_size)
    values = unpacked(packed.reshape(rows, blocks, -1), bits).astype(np.float32)
    if zero_points is None:
        values -= np.float32(1 << (bits - 1))
    elif zero_points.dtype == np.uint8:
        values -= unpacked(zero_points.reshape(rows, -1), bits)[:, :blocks, None]
    else:
        values -= wide(zero_points).reshape(rows, blocks, 1)
    values *= wide(scales).reshape(rows, blocks, 1)
    return values.reshape(rows, -1)[:, :columns]


@kernel("MatMulNBits", domain=DOMAIN)
@widened
def matmul_nbits(
    a: Array,
    b: Array,
    scales: Array,
    zero_points: Array | None = None,
    g_idx: Array | None = None,
    bias: Array | None = None,
    /,
    *,
    K: int,
    N: int,
    accuracy_level: int = 0,
    bits: int = 4,
    block_size: int,
    weight_prepacked: int = 0,
) -> Array:
    """A · Wᵀ + bias, W (N, K) being (b - zero point) · scale per block of `block_size` along K.

    Types   W in float32, whatever accuracy A may be reduced to elsewhere; without zero points 2^(bits - 1) is zero.
    """
    refuse("MatMulNBits", (("g_idx", g_idx is not None), ("weight_prepacked", weight_prepacked)))
    if b.size == 0:
        y = np.zeros((*a.shape[:-1], N), a.dtype)
    else:
        y = np.matmul(a, weight(b, scales, zero_points, bits, block_size, N, K).T.astype(a.dtype, copy=False))
    return np.asarray(y if bias is None else y + bias)


@kernel("GatherBlockQuantized", domain=DOMAIN)
def gather_block_quantized(
    data: Array,
    indices: Array,
    scales: Array,
    zero_points: Array | None = None,
    /,
    *,
    bits: int = 4,
    block_size: int = 128,
    gather_axis: int = 0,
    quantize_axis: int = 1,
) -> Array:
    """Gather of (data - zero point) · scale, with a scale per block of `block_size` along `quantize_axis`.

    uint8 data holds several numbers of few bits per byte along its last axis, and 2^(bits - 1) is zero without zero points.
    """
    axis, along = gather_axis % data.ndim, quantize_axis % data.ndim
    packed = data.dtype == np.uint8
    rows = np.take(data, indices, axis)
    factors = np.take(scales, indices, axis)
    zeros = None if zero_points is None else np.take(zero_points, indices, axis)
    if packed:
        rows = unpacked(rows, bits)
        zeros = None if zeros is None else unpacked(zeros, bits)
    place = along + indices.ndim - 1 if along > axis else along
    dim = rows.shape[place]

    def spread(per_block: Array) -> Array:
        return np.repeat(per_block, block_size or dim, place)[(slice(None),) * place + (slice(dim),)]

    y = rows.astype(np.float32)
    if zeros is not None:
        y = y - spread(zeros[(slice(None),) * place + (slice(factors.shape[place]),)].astype(np.float32))
    elif packed:
        y = y - np.float32(1 << (bits - 1))
    return np.asarray(y * spread(wide(factors))).astype(scales.dtype)
