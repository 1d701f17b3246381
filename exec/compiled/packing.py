"""Weights in the layouts compiled kernels read, made once with numpy."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from exec.compiled.vectors import PANEL, ROWS


def pack_pairs(weights: Array) -> Array:
    """(…, m, k) as (…, ⌈m/2·ROWS⌉, k, 2·ROWS), padded with zeros: two register tiles side by side, read in one sweep."""
    *lead, m, k = weights.shape
    pairs = -(-m // (2 * ROWS))
    padded = np.zeros((*lead, pairs * 2 * ROWS, k), np.float32)
    padded[..., :m, :] = weights
    return np.ascontiguousarray(padded.reshape(*lead, pairs, 2 * ROWS, k).swapaxes(-1, -2))


def pack_points(weights: Array) -> Array:
    """Winograd's (36, m, k) as (⌈m/2·ROWS⌉, 36, k, 2·ROWS): read from front to back, one block of channels after another."""
    return np.ascontiguousarray(pack_pairs(weights).swapaxes(0, 1))


def pack_byte_pairs(weights: Array, group: int) -> Array:
    """Signed (m, k, *kernel) as (group, pairs + 1, steps, 2·ROWS, 4): what an integer tile reads of A, then a row of ones.

    Steps go through the taps, and inside a tap through the channels, four at a time.
    """
    outputs, channels = weights.shape[0] // group, weights.shape[1]
    taps = int(np.prod(weights.shape[2:], dtype=np.int64))
    quads, pairs, rows = -(-channels // 4), -(-outputs // (2 * ROWS)), 2 * ROWS
    padded = np.zeros((group, (pairs + 1) * rows, taps, 4 * quads), np.int8)
    by_tap = weights.reshape(group, outputs, channels, taps).swapaxes(2, 3)
    padded[:, :outputs, :, :channels] = by_tap
    padded[:, pairs * rows, :, :channels] = 1
    return np.ascontiguousarray(padded.reshape(group, pairs + 1, rows, taps * quads, 4).swapaxes(2, 3))


def pack_byte_columns(weights: Array) -> Array:
    """Signed (k, n) as panels (⌈(n + 1)/PANEL⌉, steps, PANEL, 4) with a column of ones behind the last."""
    k, n = weights.shape
    steps, panels = -(-k // 4), -(-(n + 1) // PANEL)
    padded = np.zeros((4 * steps, panels * PANEL), np.int8)
    padded[:k, :n] = weights
    padded[:k, n] = 1
    return np.ascontiguousarray(padded.reshape(steps, 4, panels, PANEL).transpose(2, 0, 3, 1))


def pack_columns(weights: Array) -> Array:
    """(k, n) as panels (⌈n/PANEL⌉, k, PANEL), padded with zeros: what a register tile reads of B."""
    k, n = weights.shape
    panels = -(-n // PANEL)
    padded = np.zeros((k, panels * PANEL), np.float32)
    padded[:, :n] = weights
    return np.ascontiguousarray(padded.reshape(k, panels, PANEL).swapaxes(0, 1))
