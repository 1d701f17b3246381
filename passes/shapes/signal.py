"""Shapes of Fourier transforms."""

from __future__ import annotations

from passes.dims import Dim, floordiv, fresh
from passes.shapes.registry import Call, Shapes, shape_of


@shape_of("DFT")
def dft(call: Call) -> Shapes:
    """(…, n, …, 1 or 2) → (…, m, …, 2); m is the half that a real signal needs where it is one-sided."""
    x, axis = call.shape(0), _axis(call)
    if x is None:
        return None
    out = list(x)
    if axis is None or not -len(x) <= axis < len(x):
        return tuple(fresh() for _ in x)
    length = call.ints(1) if call.has(1) else [x[axis]]
    n = length[0] if length else fresh()
    onesided, inverse = bool(call.attr("onesided", 0)), bool(call.attr("inverse", 0))
    if onesided and inverse:
        # a real signal again, from half its spectrum
        out[axis], out[-1] = fresh(), fresh()
    else:
        out[axis], out[-1] = floordiv(n, 2) + 1 if onesided else n, 2
    return tuple(out)


def _axis(call: Call) -> int | None:
    if call.opset < 20:
        return int(call.attr("axis", 1))
    if not call.has(2):
        return -2
    found = call.known_ints(2)
    return found[0] if found else None


@shape_of("STFT")
def stft(call: Call) -> Shapes:
    """(batch, n, 1 or 2) → (batch, frames, bins, 2)."""
    signal, window = call.shape(0), call.shape(2) if call.has(2) else None
    if signal is None or len(signal) < 2:
        return None
    step = call.ints(1)
    given = call.ints(3) if call.has(3) else None
    length: Dim | None = given[0] if given else (window[0] if window else None)
    if length is None or not step:
        return (signal[0], fresh(), fresh(), 2)
    bins = floordiv(length, 2) + 1 if call.attr("onesided", 1) else length
    return (signal[0], floordiv(signal[1] - length, step[0]) + 1, bins, 2)
