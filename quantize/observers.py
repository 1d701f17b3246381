"""What is remembered of a tensor while samples stream by: constant memory, whatever their number and shapes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from exec.arrays import Array

METHODS = ("auto", "minmax", "moving-average", "percentile", "entropy", "mse")
FEW = 32_768  # elements below which a histogram says little: the extremes count
BINS = 2048
TINY = float(np.finfo(np.float32).tiny)  # numbers below it have no bins: their scale would not be one
PART = 1 << 15  # elements at a time: they stay in the processor's cache
PICTURE = 24  # parts of a histogram for people
SENTINEL = 1e30  # beyond it a value is a mask's −inf written as a large number


@dataclass(slots=True)
class Seen:
    """Facts every method needs for its findings.

    sentinels  elements that are ±inf or as large as a mask's filler; they are left out of the range
    """

    samples: int = 0
    elements: int = 0
    low: float = np.inf
    high: float = -np.inf
    sentinels: int = 0


class Observer(ABC):
    """Collects one tensor; `range()` is asked once, at the end."""

    def __init__(self) -> None:
        self.seen = Seen()

    def see(self, values: Array) -> None:
        """One sample's tensor. NaN is the caller's to refuse; infinities and mask fillers are counted and left out."""
        flat = values.reshape(-1)
        if flat.dtype != np.float32:
            flat = flat.astype(np.float32)
        low, high = (float(flat.min()), float(flat.max())) if flat.size else (0.0, 0.0)
        if max(-low, high) >= SENTINEL:
            usual = np.abs(flat) < SENTINEL
            self.seen.sentinels += int(flat.size - np.count_nonzero(usual))
            flat = flat[usual]
            low, high = (float(flat.min()), float(flat.max())) if flat.size else (0.0, 0.0)
        self.seen.samples += 1
        self.seen.elements += flat.size
        if flat.size:
            self.seen.low, self.seen.high = min(self.seen.low, low), max(self.seen.high, high)
            self.collect(flat, low, high)

    @abstractmethod
    def collect(self, flat: Array, low: float, high: float) -> None:
        """The finite elements of one sample, with their range."""

    @abstractmethod
    def chosen(self) -> tuple[float, float]:
        """The range this method picks; the tensor was seen at least once."""

    def range(self) -> tuple[float, float]:
        """The range to quantize, within what was seen; (0, 0) for a tensor that never had an element."""
        if not self.seen.elements:
            return 0.0, 0.0
        low, high = self.chosen()
        return max(low, self.seen.low), min(high, self.seen.high)


class MinMax(Observer):
    """The smallest and the largest value of all samples."""

    def collect(self, flat: Array, low: float, high: float) -> None:
        return

    def chosen(self) -> tuple[float, float]:
        return self.seen.low, self.seen.high


class MovingAverage(Observer):
    """An exponential average of the samples' extremes: one odd sample does not set the range."""

    def __init__(self, momentum: float = 0.9) -> None:
        super().__init__()
        self.momentum, self.low, self.high = momentum, 0.0, 0.0

    def collect(self, flat: Array, low: float, high: float) -> None:
        if self.seen.samples == 1:
            self.low, self.high = low, high
        else:
            self.low = self.momentum * self.low + (1 - self.momentum) * low
            self.high = self.momentum * self.high + (1 - self.momentum) * high

    def chosen(self) -> tuple[float, float]:
        return self.low, self.high


class Histogram(Observer):
    """Counts in `BINS` bins over a symmetric reach that doubles when a sample goes beyond it; counts fold exactly, two bins into one."""

    def __init__(self) -> None:
        super().__init__()
        self.reach = 0.0
        self.counts = np.zeros(BINS, np.int64)

    def collect(self, flat: Array, low: float, high: float) -> None:
        top = max(-low, high)
        if top < TINY:
            self.counts[BINS // 2] += flat.size
            return
        if self.reach == 0.0:
            zeros, self.counts = int(self.counts.sum()), np.zeros(BINS, np.int64)
            self.reach = top
            self.counts[BINS // 2] = zeros
        while top > self.reach:
            self._double()
        half = np.float32(BINS / 2)
        # the inverse of a reach near the smallest numbers is beyond float32
        scale = np.float32(half / self.reach) if self.reach > BINS * TINY else np.float64(half) / self.reach
        for first in range(0, flat.size, PART):
            wide: Array = flat[first : first + PART] * scale
            wide += half
            place = wide.astype(np.intp)
            np.minimum(place, BINS - 1, out=place)
            self.counts += np.bincount(place, minlength=BINS)

    def _double(self) -> None:
        folded = self.counts.reshape(-1, 2).sum(1)
        self.counts = np.zeros(BINS, np.int64)
        self.counts[BINS // 4 : BINS // 4 + BINS // 2] = folded
        self.reach *= 2

    @property
    def edges(self) -> Array:
        """The bins' borders."""
        return np.linspace(-self.reach, self.reach, BINS + 1)

    @property
    def centres(self) -> Array:
        """The bins' middles."""
        edges = self.edges
        return (edges[1:] + edges[:-1]) / 2

    def picture(self) -> tuple[int, ...]:
        """Counts in `PICTURE` parts of what was seen, from the smallest value to the largest."""
        if not self.reach or self.seen.high <= self.seen.low:
            return ()
        place = (self.centres - self.seen.low) / (self.seen.high - self.seen.low) * PICTURE
        parts = np.bincount(np.clip(place.astype(np.int64), 0, PICTURE - 1), self.counts, PICTURE)
        return tuple(int(n) for n in parts)

    def sqnr_db(self, low: float, high: float, levels: int) -> float | None:
        """What `levels` steps between `low` and `high` keep of the values, None when nothing was seen."""
        keep = self.counts > 0
        centres, weight = self.centres[keep], self.counts[keep].astype(np.float64)
        step = (max(high, 0.0) - min(low, 0.0)) / levels
        signal = float((weight * np.square(centres)).sum())
        if not step or not signal:
            return None
        clipped = np.clip(centres, min(low, 0.0), max(high, 0.0))
        noise = float(
            (weight * (np.square(centres - clipped) + np.where(clipped == centres, step * step / 12, 0.0))).sum()
        )
        return 10.0 * float(np.log10(signal / noise))


class Percentile(Histogram):
    """Cuts (100 − p)/2 percent at each end."""

    def __init__(self, percentile: float = 99.99) -> None:
        super().__init__()
        self.percentile = percentile

    def chosen(self) -> tuple[float, float]:
        total = np.cumsum(self.counts)
        cut = (100 - self.percentile) / 200 * total[-1]
        edges = self.edges
        low = edges[int(np.searchsorted(total, cut, side="right"))]
        high = edges[min(int(np.searchsorted(total, total[-1] - cut, side="left")) + 1, BINS)]
        return float(low), float(high)


class MeanSquaredError(Histogram):
    """The clipping that loses the least energy at 8 bits: rounding noise inside, clipping noise outside."""

    _STEPS = 80

    def chosen(self) -> tuple[float, float]:
        centres, weight = self.centres, self.counts.astype(np.float64)
        low, high = self.seen.low, self.seen.high
        best, choice = np.inf, (low, high)
        for k in range(self._STEPS):
            share = 1.0 - k / self._STEPS
            lo, hi = min(low * share, 0.0), max(high * share, 0.0)
            step = (hi - lo) / 255 or 1.0
            clipped = np.clip(centres, lo, hi)
            error = float(
                (weight * (np.square(centres - clipped) + np.where(clipped == centres, step * step / 12, 0.0))).sum()
            )
            if error < best:
                best, choice = error, (lo, hi)
        return choice


class Judged(Histogram):
    """The clipping that keeps most of what the next activation makes of the value ("auto").

    The error of a range is Σ count·(f(c) − f(q(c)))² over the histogram, with f the activation that follows, the identity without one.
    Of a tensor with few elements the extremes are taken: its histogram says little.
    """

    _TURNS = 3
    _SHARES = np.concatenate([np.linspace(1.0, 0.5, 11), np.linspace(0.45, 0.05, 9)])

    def __init__(self, curve: Callable[[Array], Array] | None = None, levels: int = 255) -> None:
        super().__init__()
        self.curve, self.levels = curve, levels

    def chosen(self) -> tuple[float, float]:
        low, high = min(self.seen.low, 0.0), max(self.seen.high, 0.0)
        if self.seen.elements < FEW or low == high:
            return low, high
        keep = self.counts > 0
        centres, weight = self.centres[keep], self.counts[keep].astype(np.float64)
        want = centres if self.curve is None else self.curve(centres)
        lows = sorted({low * s for s in self._SHARES}) if low < 0 else [0.0]
        highs = sorted({high * s for s in self._SHARES}) if high > 0 else [0.0]
        lo, hi = low, high
        for _ in range(self._TURNS):
            before = lo, hi
            hi = min(reversed(highs), key=lambda at: self._error(centres, weight, want, lo, at))
            lo = min(lows, key=lambda at: self._error(centres, weight, want, at, hi))
            if (lo, hi) == before:
                break
        return lo, hi

    def _error(self, centres: Array, weight: Array, want: Array, low: float, high: float) -> float:
        step = (high - low) / self.levels or 1.0
        zero = np.rint(-low / step)
        got = (np.clip(np.rint(centres / step) + zero, 0, self.levels) - zero) * step
        if self.curve is not None:
            got = self.curve(got)
        return float((weight * np.square(want - got)).sum())


class Entropy(Histogram):
    """The clipping whose 8-bit histogram is nearest to the original by Kullback-Leibler divergence (Migacz, GTC 2017).

    The bin of the zeros counts as much as its neighbour, as in NVIDIA's calibration: what a Relu cuts off would outweigh everything, and any
    step wider than a bin would seem ruinous. A value of one sign has all 256 levels on its side, one of two signs its share of them.
    """

    _LEVELS, _FIRST, _STRIDE = 256, 128, 16

    def chosen(self) -> tuple[float, float]:
        magnitude = self.counts[BINS // 2 :] + self.counts[: BINS // 2][::-1]
        magnitude[0] = min(magnitude[0], magnitude[1])
        best, keep = np.inf, magnitude.size
        for size in range(self._FIRST, magnitude.size + 1, self._STRIDE):
            divergence = self._divergence(magnitude, size, self._levels(self.reach * size / magnitude.size))
            if divergence < best:
                best, keep = divergence, size
        reach = self.reach * keep / magnitude.size
        return -reach, reach

    def _levels(self, reach: float) -> int:
        """Steps between 0 and the larger end of what is left of the range."""
        low, high = min(max(-reach, self.seen.low), 0.0), max(min(reach, self.seen.high), 0.0)
        return max(1, round(self._LEVELS * max(-low, high) / ((high - low) or 1.0)))

    def _divergence(self, magnitude: Array, size: int, levels: int) -> float:
        inside = magnitude[:size].astype(np.float64)
        outside = float(magnitude[size:].sum())
        reference = inside.copy()
        reference[-1] += outside
        group = np.minimum(np.arange(size) * levels // size, levels - 1)
        present = inside > 0
        sums = np.bincount(group, inside, levels)
        filled = np.bincount(group, present, levels)
        spread = np.where(present, (sums / np.maximum(filled, 1))[group], 0.0)
        if not spread.sum():
            return np.inf
        p, q = reference / reference.sum(), spread / spread.sum()
        p, q = p + 1e-9, q + 1e-9
        return float((p * np.log(p / q)).sum())


def observer(method: str, curve: Callable[[Array], Array] | None = None, levels: int = 255) -> Observer:
    """A fresh observer of the method of that name."""
    from exec.errors import OptionError, nearest

    if method == "auto":
        return Judged(curve, levels)
    makers: dict[str, type[Observer]] = {
        "minmax": MinMax,
        "moving-average": MovingAverage,
        "percentile": Percentile,
        "entropy": Entropy,
        "mse": MeanSquaredError,
    }
    if method not in makers:
        raise OptionError(
            f"no calibration method {method!r}", why=f"there are {', '.join(METHODS)}", hint=nearest(method, METHODS)
        )
    made: Observer = makers[method]()
    return made
