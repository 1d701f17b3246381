"""Fourier transforms, windows and the mel filter bank. Complex numbers have a last axis of 2, real ones of 1."""

from __future__ import annotations

import math

import numpy as np

from exec.arrays import Array
from exec.budget import element_count
from exec.kernels.conversion import dtype_of
from exec.kernels.growth import ask, fitting
from exec.kernels.registry import kernel
from exec.kernels.widen import widened

_FLOAT = 1
_WORKING = 140  # bytes for each number


@kernel("DFT", since=17)
@widened
def dft_17(
    x: Array, dft_length: Array | None = None, /, *, axis: int = 1, inverse: int = 0, onesided: int = 0
) -> Array:
    """DFT with the axis as an attribute, before opset 20."""
    return transformed(x, dft_length, axis, inverse, onesided)


@kernel("DFT", since=20)
@widened
def dft(
    x: Array, dft_length: Array | None = None, axis: Array | None = None, /, *, inverse: int = 0, onesided: int = 0
) -> Array:
    """X[k] = Σ x[n] · exp(∓2πi·k·n / N) along `axis`; the inverse divided by N.

    The signal is cut or padded with zeros to `dft_length`. onesided=1: of a real signal the first N // 2 + 1 frequencies;
    inverse, from these back to a real signal.
    """
    return transformed(x, dft_length, -2 if axis is None else int(axis.reshape(())), inverse, onesided)


def transformed(x: Array, dft_length: Array | None, axis: int, inverse: int, onesided: int) -> Array:
    """The DFT of `x` along `axis`, which counts with the last axis (of real and imaginary part)."""
    axis %= x.ndim
    if dft_length is not None:
        length = int(dft_length.reshape(()))
    else:
        length = 2 * (x.shape[axis] - 1) if inverse and onesided else x.shape[axis]
    # a transform of prime length works on twice as many numbers, three times
    ask(_WORKING * element_count(length if k == axis else dim for k, dim in enumerate(x.shape[:-1])))
    signal = x[..., 0] if x.shape[-1] == 1 else x[..., 0] + x.dtype.type(1) * 1j * x[..., 1]
    if inverse and onesided:
        return np.asarray(np.fft.irfft(signal, length, axis)[..., None], x.dtype)
    if inverse:
        return _parts(np.fft.ifft(signal, length, axis), x)
    if onesided and x.shape[-1] == 1:
        return _parts(np.fft.rfft(signal, length, axis), x)
    spectrum = np.fft.fft(signal, length, axis)
    return _parts(spectrum[(slice(None),) * axis + (slice(length // 2 + 1),)] if onesided else spectrum, x)


def _parts(spectrum: Array, like: Array) -> Array:
    return np.stack((spectrum.real, spectrum.imag), -1).astype(like.dtype, copy=False)


@kernel("STFT", since=17)
@widened
def stft(
    signal: Array,
    frame_step: Array,
    window: Array | None = None,
    frame_length: Array | None = None,
    /,
    *,
    onesided: int = 1,
) -> Array:
    """The DFT of each frame of `frame_length` samples, `frame_step` apart, times `window`.

    Shapes  signal (batch, samples, 1 or 2) → (batch, frames, frequencies, 2).
    """
    step, samples = int(frame_step.reshape(())), signal.shape[1]
    if frame_length is not None:
        length = int(frame_length.reshape(()))
    else:
        length = samples if window is None else window.shape[0]
    frames = np.lib.stride_tricks.sliding_window_view(signal, length, 1)[:, ::step]
    frames = frames if window is None else frames * window
    return transformed(np.moveaxis(frames, -1, 2), None, 2, 0, onesided)


def _angles(size: Array, periodic: int) -> Array:
    """2π · n / N: N is `size`, of a symmetric window one less."""
    (count,) = fitting((size.reshape(()),), np.float64)
    return 2 * math.pi * np.arange(count) / (count if periodic else count - 1)


@kernel("HannWindow", since=17)
def hann_window(size: Array, /, *, output_datatype: int = _FLOAT, periodic: int = 1) -> Array:
    """1/2 - 1/2 · cos(2πn / N)."""
    return np.asarray(0.5 - 0.5 * np.cos(_angles(size, periodic)), dtype_of(output_datatype))


@kernel("HammingWindow", since=17)
def hamming_window(size: Array, /, *, output_datatype: int = _FLOAT, periodic: int = 1) -> Array:
    """25/46 - 21/46 · cos(2πn / N)."""
    return np.asarray(25 / 46 - 21 / 46 * np.cos(_angles(size, periodic)), dtype_of(output_datatype))


@kernel("BlackmanWindow", since=17)
def blackman_window(size: Array, /, *, output_datatype: int = _FLOAT, periodic: int = 1) -> Array:
    """0.42 - 0.5 · cos(2πn / N) + 0.08 · cos(4πn / N)."""
    angle = _angles(size, periodic)
    return np.asarray(0.42 - 0.5 * np.cos(angle) + 0.08 * np.cos(2 * angle), dtype_of(output_datatype))


@kernel("MelWeightMatrix", since=17)
def mel_weight_matrix(
    num_mel_bins: Array,
    dft_length: Array,
    sample_rate: Array,
    lower_edge_hertz: Array,
    upper_edge_hertz: Array,
    /,
    *,
    output_datatype: int = _FLOAT,
) -> Array:
    """Triangles over the bins of a one-sided DFT, evenly spaced in mel(f) = 2595 · log10(1 + f / 700).

    Shapes  → (dft_length // 2 + 1, num_mel_bins).
    """
    length, bands = fitting((dft_length.reshape(()), num_mel_bins.reshape(())), np.float64)
    edges = [2595 * math.log10(1 + float(f.reshape(())) / 700) for f in (lower_edge_hertz, upper_edge_hertz)]
    mel = edges[0] + np.arange(bands + 2) * ((edges[1] - edges[0]) / (bands + 2))
    hertz = 700 * (np.power(10.0, mel / 2595) - 1)
    bins = np.floor_divide((length + 1) * hertz, int(sample_rate.reshape(()))).astype(np.int64)
    low, center, high = bins[:-2], bins[1:-1], bins[2:]
    place = np.arange(length // 2 + 1)[:, None]
    rising = np.where((place >= low) & (place <= center), (place - low) / np.maximum(center - low, 1), 0.0)
    falling = np.where((place >= center) & (place < high), (high - place) / np.maximum(high - center, 1), 0.0)
    # where both edges of a band fall into one bin, that bin is its peak
    peak = ((low == center) & (place == center)).astype(np.float64)
    return np.asarray(np.maximum(np.maximum(rising, falling), peak), dtype_of(output_datatype))
