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


def pack_columns(weights: Array) -> Array:
    """(k, n) as panels (⌈n/PANEL⌉, k, PANEL), padded with zeros: what a register tile reads of B."""
    k, n = weights.shape
    panels = -(-n // PANEL)
    padded = np.zeros((k, panels * PANEL), np.float32)
    padded[:, :n] = weights
    return np.ascontiguousarray(padded.reshape(k, panels, PANEL).swapaxes(0, 1))
