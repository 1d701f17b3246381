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
def _quick(code: Any, v: Any, p: Any, q: Any) -> Any:
    """Activation `code` of v where it is a few instructions; NaN stays NaN."""
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
    return _plain(code, v, p, q)


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
    return fma(v, fill(p), fill(q))


TANH_FLAT, ERF_FLAT = 9.0, 3.925
"""Where float32 no longer tells the function from 1."""

TANH_P = (1.0, 0.13380970060825348, 0.0034955197479575872, 2.060789665847551e-05, 1.3352936534261062e-08)
TANH_Q = (1.0, 0.46714285016059875, 0.0258767269551754, 0.0003285520360805094, 7.775868198223179e-07)
ERF_P = (
    1.1283791065216064, 0.1905892789363861, 0.052768196910619736, 0.003772228956222534, 0.00028481445042416453,
    2.0457716800592607e-06,
)  # fmt: skip
ERF_Q = (
    1.0, 0.5022380948066711, 0.11418040841817856, 0.014982558786869049, 0.0011637398274615407, 3.80436067644041e-05,
)  # fmt: skip
"""f(x) = x·P(x²)/Q(x²), fitted to the least relative error up to where f is flat: 3e-7 and 4e-7 in float32."""


@helper
def tanh_of(x: Any) -> Any:
    """tanh x; NaN stays NaN."""
    c = smaller(fill(TANH_FLAT), larger(fill(-TANH_FLAT), x))
    s = multiply(c, c)
    p, q = fill(TANH_P[4]), fill(TANH_Q[4])
    for k in range(3, -1, -1):
        p, q = fma(p, s, fill(TANH_P[k])), fma(q, s, fill(TANH_Q[k]))
    return smaller(fill(1.0), larger(fill(-1.0), divide(multiply(c, p), q)))


@helper
def erf_of(x: Any) -> Any:
    """erf x; NaN stays NaN."""
    c = smaller(fill(ERF_FLAT), larger(fill(-ERF_FLAT), x))
    s = multiply(c, c)
    p, q = fill(ERF_P[5]), fill(ERF_Q[5])
    for k in range(4, -1, -1):
        p, q = fma(p, s, fill(ERF_P[k])), fma(q, s, fill(ERF_Q[k]))
    return smaller(fill(1.0), larger(fill(-1.0), divide(multiply(c, p), q)))


@helper
def sigmoid_of(x: Any) -> Any:
    """1 / (1 + e^−x)"""
    one = fill(1.0)
    return divide(one, add(one, exp(subtract(fill(0.0), x))))


@helper
def _long(code: Any, v: Any, p: Any, q: Any) -> Any:
    """The activations around one exponential, tanh or erf: their code is long, so there is one of each."""
    one, zero = fill(1.0), fill(0.0)
    if code in (SIGMOID, SWISH, ELU, EXP):
        x = v if code in (ELU, EXP) else multiply(v, fill(-1.0 if code == SIGMOID else -p))
        y = exp(x)
        if code == EXP:
            return y
        if code == ELU:
            return choose_less(v, zero, multiply(fill(p), subtract(y, one)), v)
        return divide(one if code == SIGMOID else v, add(one, y))
    if code in (TANH, GELU_TANH):
        t = tanh_of(v if code == TANH else multiply(v, fma(multiply(v, v), fill(0.03567740814), fill(0.79788456))))
    else:
        t = erf_of(v if code == ERF else multiply(v, fill(0.70710678)))
    if code in (TANH, ERF):
        return t
    half = multiply(v, fill(0.5))
    return fma(half, t, half)


FINISH_KINDS = "i i i i i i i i i i i i i f f"


def _sweep(activate: Any) -> Any:
    """The pass over a block with one family of activations: with both in a loop, the long ones' constants crowd out the quick ones."""

    @helper
    def swept(
        source: Any, source_row: Any, c: Any, c_row: Any, rows: Any, columns: Any, bias: Any, bias_row: Any, bias_column: Any,
        rest: Any, rest_row: Any, before: Any, code: Any, p: Any, q: Any,
    ) -> Any:  # fmt: skip
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

    return swept


quick_sweep, long_sweep = _sweep(_quick), _sweep(_long)


@part(FINISH_KINDS)
def finish(
    source: Any, source_row: Any, c: Any, c_row: Any, rows: Any, columns: Any, bias: Any, bias_row: Any, bias_column: Any,
    rest: Any, rest_row: Any, before: Any, code: Any, p: Any, q: Any,
) -> Any:  # fmt: skip
    """C = activation(source + bias + rest) over a block of rows; C may be the source.

    bias  0, or its address; bias_row, bias_column are the bytes from row to row and from column to column
    rest  0, or the address of what is added; `before` the activation or after it
    """
    if code in (SIGMOID, SWISH, GELU, GELU_TANH, TANH, ELU, ERF, EXP):
        long_sweep(
            source, source_row, c, c_row, rows, columns, bias, bias_row, bias_column, rest, rest_row, before, code, p, q
        )
    else:
        quick_sweep(
            source, source_row, c, c_row, rows, columns, bias, bias_row, bias_column, rest, rest_row, before, code, p, q
        )
