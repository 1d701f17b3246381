"""Convolution: which of the algorithms, by shape."""

from __future__ import annotations

import math

import numpy as np

from exec.kernels.nn.window import window
from exec.lowering.buffers import Slot
from exec.lowering.builder import Builder
from exec.lowering.convolution.depthwise import depthwise
from exec.lowering.convolution.gathered import gathered
from exec.lowering.convolution.pointwise import pointwise
from exec.lowering.convolution.problem import MOST_EACH, Convolution
from exec.lowering.convolution.winograd import pays, winograd
from exec.lowering.registry import lowering
from exec.lowering.units import Unit


@lowering("Conv")
def conv(b: Builder, unit: Unit) -> bool:
    x, w = b.input(unit.inputs[0]), b.units.constant(unit.inputs[1])
    number = unit.outputs[0]
    if "integers" in unit.extra:
        return _on_integers(b, unit, x)
    if w is None or x.dtype != np.float32 or w.dtype != np.float32 or b.units.specs[number].size == 0:
        return False
    bias = b.units.constant(unit.inputs[2]) if unit.input(2) >= 0 else None
    if unit.input(2) >= 0 and bias is None:
        return False
    a = unit.attributes
    g = window(
        x.shape[2:], w.shape[2:], a.get("strides"), a.get("pads"), a.get("dilations"), a.get("auto_pad", "NOTSET")
    )
    if min(*g.before, *g.after, 0) < 0:
        return False
    c = Convolution(x, b.new(number), w, w, bias, g, int(a.get("group", 1)))
    if b.jit:
        from exec.lowering.jit.convolution import convolve
        from exec.lowering.jit.tail import tail_of

        if convolve(b, c, tail_of(b, unit, None if bias is None else b.constant(bias))):
            return True
    if "epilogue" in unit.extra:
        return False
    algorithm = choose(c)
    if algorithm == "pointwise":
        pointwise(b, c)
    elif algorithm == "winograd":
        winograd(b, c)
    elif algorithm == "depthwise":
        depthwise(b, c)
    else:
        gathered(b, c)
    return True


def _on_integers(b: Builder, unit: Unit, x: Slot) -> bool:
    """A convolution that reads the bytes in front of its DequantizeLinear."""
    from exec.lowering.jit import integers
    from exec.lowering.jit.tail import tail_of

    found, a = unit.extra["integers"], unit.attributes
    w = found.weights
    g = window(
        x.shape[2:], w.shape[2:], a.get("strides"), a.get("pads"), a.get("dilations"), a.get("auto_pad", "NOTSET")
    )
    if min(*g.before, *g.after, 0) < 0:
        return False
    bias = b.input(unit.inputs[2]) if unit.input(2) >= 0 else None
    zero = None if found.zero is None else b.constant(found.zero)
    out, tail = b.new(unit.outputs[0]), tail_of(b, unit, bias)
    group = int(a.get("group", 1))
    return integers.convolve(b, out, x, zero, w, found.zeros, g, group, found.scale, tail)


SMALL_PLANE = 96
"""Places up to which the product of many outputs of one channel is worth gathering for in one go."""


def choose(c: Convolution) -> str:
    """The algorithm for a shape."""
    if c.g.pointwise and (c.group == 1 or c.weights.shape[1] > 1):
        return "pointwise"
    few = c.weights.shape[0] <= MOST_EACH * c.group or math.prod(c.g.out) > SMALL_PLANE
    if c.group > 1 and c.weights.shape[1] == 1 and few:
        return "depthwise"
    if c.group == 1 and pays(c):
        return "winograd"
    return "gathered"
