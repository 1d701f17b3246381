"""A 1×1 convolution is a matrix product, straight from the input into the output."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from exec.arrays import Array
from exec.lowering.builder import Builder, Step
from exec.lowering.convolution.problem import Convolution
from exec.lowering.shallow import multiply


def pointwise(b: Builder, c: Convolution) -> None:
    """out[n, group] = W[group]·x[n, group]; the bias is one more input channel, of ones, or added in place."""
    (n, channels), group = c.x.shape[:2], c.group
    outputs, places = c.out.shape[1], math.prod(c.g.out)
    x = b.shaped(c.x, (n, group, channels // group, places))
    out = c.out.view(c.out.array.reshape(n, group, outputs // group, places))
    longer = x.view(x.array[0, 0]).longer(1) if c.bias is not None and n == group == 1 else None
    if longer is not None:
        weights = b.constant(matrices(b, c, biased=True)[0])
        b.emit(partial(_with_ones, b.threads), out.view(out.array[0, 0]), weights, longer)
        return
    widens = c.bias is not None and channels * WIDENS <= outputs
    weights = b.constant(matrices(b, c, biased=widens))
    if widens:
        b.emit(partial(_widening, b.threads), out, weights, x, b.scratch((group, channels // group + 1, places)))
        return
    b.emit(partial(_product, b.threads), out, weights, x)
    if c.bias is not None:
        b.emit(_add, c.out, b.constant(c.bias.reshape(-1, *[1] * c.g.rank)))


WIDENS = 2
"""Outputs per input channel from which on copying the input next to a row of ones beats a pass over the output for the bias."""


def matrices(b: Builder, c: Convolution, *, biased: bool) -> Array:
    """Weights as (group, M/group, K); biased, with a column more: a product with columns that end in a row of ones adds the bias."""
    shape = (c.group, c.weights.shape[0] // c.group)
    bias = c.bias if biased else None

    def make() -> Array:
        matrix = np.ascontiguousarray(c.weights.reshape(*shape, -1))
        return matrix if bias is None else np.concatenate([matrix, bias.reshape(*shape, 1)], axis=2)

    packed: Array = b.packs.get(c.source, ("rows", c.group, None if bias is None else bias.tobytes()), make)
    return packed


def _with_ones(threads: int, out: Array, weights: Array, x: Array) -> list[Step]:
    """One row of ones behind the input's, in its buffer: filling it is a fraction of a pass over the output for the bias."""
    return [partial(x[-1].fill, 1), *multiply(weights, x, out, threads)]


def _widening(threads: int, out: Array, weights: Array, x: Array, room: Array) -> list[Step]:
    steps: list[Step] = [partial(room[:, -1].fill, 1)]
    for sample in range(x.shape[0]):
        steps += [partial(np.copyto, room[:, :-1], x[sample]), *multiply(weights, room, out[sample], threads)]
    return steps


def _product(threads: int, out: Array, weights: Array, x: Array) -> list[Step]:
    if x.shape[0] == 1:
        return multiply(weights, x[0], out[0], threads)
    return multiply(weights, x, out, threads)


def _add(out: Array, bias: Array) -> Step:
    return partial(np.add, out, bias, out)
