"""What may happen to a result before it is stored: activations by number, and the tail every product and convolution shares."""

from __future__ import annotations

from typing import Any

from exec.compiled.toolchain import part
from exec.compiled.vectors import (
    LANES,
    absolute,
    add,
    ceil,
    choose_less,
    copysign,
    divide,
    exp,
    fill,
    floor,
    fma,
    get,
    helper,
    larger,
    load_first,
    multiply,
    rint,
    root,
    smaller,
    store_first,
    subtract,
)
from exec.kernels.math.exponential import _ATANH_ERF as ATANH_ERF
from exec.kernels.math.exponential import _FLAT_FROM as FLAT_FROM

(
    NONE,
    RELU,
    CLIP,
    LEAKY,
    SIGMOID,
    SWISH,
    HARD_SIGMOID,
    HARD_SWISH,
    GELU,
    GELU_TANH,
    TANH,
    ELU,
    ERF,
    SQRT,
    EXP,
    ABS,
    NEG,
    RECIPROCAL,
    FLOOR,
    CEIL,
    ROUND,
    SQUARE,
    SCALE,
) = range(23)
"""Numbers of what can happen to one value.

p and q are parameters: CLIP bounds, LEAKY and ELU alpha, HARD_SIGMOID alpha and beta, SCALE factor and summand.
"""

NUMBERS = {
    "Relu": RELU, "Clip": CLIP, "LeakyRelu": LEAKY, "Sigmoid": SIGMOID, "Swish": SWISH, "HardSigmoid": HARD_SIGMOID,
    "HardSwish": HARD_SWISH, "Gelu": GELU, "GeluTanh": GELU_TANH, "Tanh": TANH, "Elu": ELU, "Erf": ERF, "Sqrt": SQRT,
    "Exp": EXP, "Abs": ABS, "Neg": NEG, "Reciprocal": RECIPROCAL, "Floor": FLOOR, "Ceil": CEIL, "Round": ROUND,
    "Square": SQUARE,
}  # fmt: skip


@helper
def activate(code: Any, v: Any, p: Any, q: Any) -> Any:
    """Activation `code` of v; NaN stays NaN."""
    if code == NONE:
        return v
    if code == RELU:
        return larger(fill(0.0), v)
    if code == CLIP:
        return smaller(fill(q), larger(fill(p), v))
    if code == LEAKY:
        return choose_less(v, fill(0.0), multiply(v, fill(p)), v)
    if code == HARD_SIGMOID:
        return smaller(fill(1.0), larger(fill(0.0), fma(v, fill(p), fill(q))))
    if code == HARD_SWISH:
        return multiply(v, smaller(fill(1.0), larger(fill(0.0), fma(v, fill(1.0 / 6.0), fill(0.5)))))
    if code >= SQRT:
        return _plain(code, v, p, q)
    return _by_exponential(code, v, p)


@helper
def _plain(code: Any, v: Any, p: Any, q: Any) -> Any:
    """The functions that are one or two instructions."""
    if code == SQRT:
        return root(v)
    if code == ABS:
        return absolute(v)
    if code == NEG:
        return subtract(fill(-0.0), v)
    if code == RECIPROCAL:
        return divide(fill(1.0), v)
    if code == FLOOR:
        return floor(v)
    if code == CEIL:
        return ceil(v)
    if code == ROUND:
        return rint(v)
    if code == SQUARE:
        return multiply(v, v)
    if code == SCALE:
        return fma(v, fill(p), fill(q))
    return exp(v)


@helper
def tanh_of(x: Any) -> Any:
    """(1 − e) / (1 + e) with e = exp(−2|x|); near 0 a polynomial, where the difference would cancel."""
    one, size = fill(1.0), absolute(x)
    e = exp(multiply(size, fill(-2.0)))
    far = divide(subtract(one, e), add(one, e))
    s = multiply(x, x)
    y = fma(fill(-0.0061236), s, fill(0.02096787))
    y = fma(y, s, fill(-0.05382793))
    y = fma(y, s, fill(0.13332364))
    y = fma(y, s, fill(-0.33333311))
    return copysign(choose_less(size, fill(0.55), fma(multiply(size, s), y, size), far), x)


@helper
def sigmoid_of(x: Any) -> Any:
    """1 / (1 + e^−x)"""
    one = fill(1.0)
    return divide(one, add(one, exp(subtract(fill(0.0), x))))


@helper
def _by_exponential(code: Any, v: Any, p: Any) -> Any:
    """The activations around one exponential: its code is long, so there is one of it."""
    one, zero = fill(1.0), fill(0.0)
    x = v
    if code == SWISH:
        x = multiply(v, fill(p))
    elif code == GELU_TANH:
        x = multiply(v, fma(multiply(v, v), fill(0.03567740814), fill(0.79788456)))
    elif code in (GELU, ERF):
        x = v if code == ERF else multiply(v, fill(0.70710678))
        x = smaller(fill(FLAT_FROM), larger(fill(-FLAT_FROM), x))
        s = multiply(x, x)
        y = fill(ATANH_ERF[6])
        for k in range(5, -1, -1):
            y = fma(y, s, fill(ATANH_ERF[k]))
        x = multiply(x, y)
    if code in (SIGMOID, SWISH):
        y = divide(one, add(one, exp(subtract(zero, x))))
        return y if code == SIGMOID else multiply(v, y)
    if code == ELU:
        return choose_less(v, zero, multiply(fill(p), subtract(exp(v), one)), v)
    t = tanh_of(x)
    if code in (TANH, ERF):
        return t
    half = multiply(v, fill(0.5))
    return fma(half, t, half)


FINISH_KINDS = "i i i i i i i i i i i i i f f"


@part(FINISH_KINDS)
def finish(
    source: Any, source_row: Any, c: Any, c_row: Any, rows: Any, columns: Any, bias: Any, bias_row: Any, bias_column: Any,
    rest: Any, rest_row: Any, before: Any, code: Any, p: Any, q: Any,
) -> Any:  # fmt: skip
    """C = activation(source + bias + rest) over a block of rows; C may be the source.

    bias  0, or its address; bias_row, bias_column are the bytes from row to row and from column to column
    rest  0, or the address of what is added; `before` the activation or after it
    """
    for r in range(rows):
        at, to = source + r * source_row, c + r * c_row
        shift = fill(0.0)
        if bias != 0 and bias_column == 0:
            shift = fill(get(bias + r * bias_row))
        for j in range(0, columns, LANES):
            left = min(columns - j, LANES)
            v = load_first(at + 4 * j, left)
            if bias != 0 and bias_column != 0:
                shift = load_first(bias + 4 * j, left)
            v = add(v, shift)
            if rest != 0 and before != 0:
                v = add(v, load_first(rest + r * rest_row + 4 * j, left))
            v = activate(code, v, p, q)
            if rest != 0 and before == 0:
                v = add(v, load_first(rest + r * rest_row + 4 * j, left))
            store_first(to + 4 * j, v, left)
