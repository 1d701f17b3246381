"""A 1×1 convolution is a matrix product, straight from the input into the output."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from exec.arrays import Array
from exec.lowering.builder import Builder, Step
from exec.lowering.convolution.problem import Convolution


def pointwise(b: Builder, c: Convolution) -> None:
    """out[n] = W·x[n], then the bias in place."""
    n, channels = c.x.shape[:2]
    outputs, places = c.out.shape[1], math.prod(c.g.out)
    x = b.shaped(c.x, (n, channels, places))
    out = c.out.view(c.out.array.reshape(n, outputs, places))
    weights = b.packs.get(c.source, "matrix", lambda: np.ascontiguousarray(c.weights.reshape(outputs, channels)))
    b.emit(_product, out, b.constant(weights), x)
    add_bias(b, c)


def _product(out: Array, weights: Array, x: Array) -> Step:
    if x.shape[0] == 1:
        return partial(np.matmul, weights, x[0], out[0])
    return partial(np.matmul, weights, x, out)


def add_bias(b: Builder, c: Convolution) -> None:
    """Add the bias to the finished output."""
    if c.bias is not None:
        bias = b.constant(c.bias.reshape(-1, *[1] * c.g.rank))
        b.emit(_add, c.out, bias)


def _add(out: Array, bias: Array) -> Step:
    return partial(np.add, out, bias, out)
