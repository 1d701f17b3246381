"""Values whose channels, or whose parts, need very different scales: 8 bits for the largest are none for the others."""

from __future__ import annotations

import numpy as np

from exec.arrays import Array
from quantize.findings import Finding

LEAST_LEVELS = 8.0
"""Of 255 levels; a channel or part with fewer carries less than 4 bits."""
LEVELS = 255.0


class Reach:
    """Largest magnitude of each channel along `axis`, over all samples."""

    def __init__(self, axis: int) -> None:
        self.axis = axis
        self.top: Array | None = None

    def see(self, values: Array) -> None:
        """One sample's value; infinities are masks and do not count."""
        if not values.size or not -values.ndim <= self.axis < values.ndim:
            return
        others = tuple(k for k in range(values.ndim) if k != self.axis % values.ndim)
        top = np.maximum(values.max(others), -values.min(others))
        if not np.isfinite(top).all():
            top = np.abs(np.where(np.isfinite(values), values, 0.0)).max(others)
        self.top = top if self.top is None or self.top.shape != top.shape else np.maximum(self.top, top)


class Mean:
    """Mean of each channel along `axis`, over all samples."""

    def __init__(self, axis: int) -> None:
        self.axis = axis
        self.total: Array | None = None
        self.count = 0

    def see(self, values: Array) -> None:
        """One sample's value."""
        if not values.size or not -values.ndim <= self.axis < values.ndim:
            return
        others = tuple(k for k in range(values.ndim) if k != self.axis % values.ndim)
        part = np.where(np.isfinite(values), values, 0.0).sum(others, dtype=np.float64)
        if self.total is None or self.total.shape == part.shape:
            self.total = part if self.total is None else self.total + part
            self.count += values.size // part.size

    @property
    def value(self) -> Array | None:
        """None when nothing was seen."""
        return None if self.total is None else self.total / max(self.count, 1)


def outlier(name: str, reach: Reach) -> Finding | None:
    """A finding when few channels set the scale of all."""
    if reach.top is None or reach.top.size < 2:
        return None
    alive = reach.top[reach.top > 0]
    if alive.size < 2:
        return None
    usual, top = float(np.median(alive)), float(alive.max())
    levels = LEVELS * usual / top
    if levels >= LEAST_LEVELS:
        return None
    channel = int(reach.top.argmax())
    text = f"channel {channel} reaches {top:.3g} where the usual one reaches {usual:.3g}: {levels:.1f} of 255 levels are left to it"
    return Finding("Q011", "warning", name, text, "--repair smooth moves the difference into the weights")


def uneven(name: str, parts: dict[str, tuple[float, float]]) -> Finding | None:
    """A finding when one part of a Concat needs a far finer scale than the whole has."""
    widths = {n: max(-low, high) for n, (low, high) in parts.items() if max(-low, high) > 0}
    if len(widths) < 2:
        return None
    low, high = min(widths, key=widths.__getitem__), max(widths, key=widths.__getitem__)
    levels = LEVELS * widths[low] / widths[high]
    if levels >= LEAST_LEVELS:
        return None
    text = f"'{low}' reaches {widths[low]:.3g} beside '{high}' with {widths[high]:.3g}: {levels:.1f} of 255 levels are left to it"
    return Finding(
        "Q014", "warning", name, text, "leave the reader out with --exclude, or scale the part before the Concat"
    )
