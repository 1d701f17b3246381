"""Formulas of several steps, on pieces that stay in the cache."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from exec.arrays import Array

TILE = 1 << 15  # elements; with a few temporaries of float32 this is what a second-level cache holds

F = TypeVar("F", bound=Callable[..., Any])


def tiled(function: F) -> F:
    """An elementwise kernel of one operand that goes through a large contiguous array piece by piece.

    Each step of a formula is a pass over its operand; from memory a pass costs five times what it costs in the cache.
    """

    @functools.wraps(function)
    def call(x: Array, /, **attributes: Any) -> Array:
        if x.size <= 2 * TILE or not x.flags.c_contiguous:
            return cast(Array, function(x, **attributes))
        flat = x.reshape(-1)
        first = function(flat[:TILE], **attributes)
        y = np.empty(flat.size, first.dtype)
        y[:TILE] = first
        for start in range(TILE, flat.size, TILE):
            y[start : start + TILE] = function(flat[start : start + TILE], **attributes)
        return y.reshape(x.shape)

    return cast(F, call)
