"""Numbers as people read them. Base units in, a short text out."""

from __future__ import annotations

import math

DASH = "–"


def count(value: float | None) -> str:
    """1234567 → "1.23 M"; up to 9999 in full."""
    if value is None:
        return DASH
    if abs(value) < 10_000:
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}" if abs(value) < 1000 * size else f"{value / size:,.0f} {unit}"
    return str(value)


def size(value_bytes: float | None) -> str:
    """Decimal units, as file managers and downloads use: 4750000 → "4.75 MB"."""
    if value_bytes is None:
        return DASH
    if abs(value_bytes) < 1000:
        return f"{value_bytes:.0f} B"
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value_bytes) >= scale:
            return f"{value_bytes / scale:.3g} {unit}" if abs(value_bytes) < 1e300 else f"over 1e288 {unit}"
    return f"{value_bytes:.0f} B"


def duration(value_ns: float | None) -> str:
    """Nanoseconds → "0.663 ms", "12.3 µs", "1.20 s"; a difference may be "−4.8 µs"."""
    if value_ns is None or math.isnan(value_ns):
        return DASH
    sign, size_ns = "−" if value_ns < 0 else "", abs(value_ns)
    if size_ns < 100_000:
        return f"{sign}{size_ns / 1e3:.3g} µs"
    if size_ns < 1e9:
        return f"{sign}{size_ns / 1e6:.3g} ms"
    return f"{sign}{size_ns / 1e9:.3g} s"


def percent(share: float | None) -> str:
    """0.362 → "36.2 %"."""
    return DASH if share is None or math.isnan(share) else f"{100 * share:.1f} %"


def decibel(value_db: float | None) -> str:
    """Equal values have no noise: "exact"."""
    if value_db is None or math.isnan(value_db):
        return DASH
    return "exact" if math.isinf(value_db) and value_db > 0 else f"{value_db:.1f} dB"


def ratio(value: float | None) -> str:
    """A factor beside 1: "0.62×"."""
    return DASH if value is None or not math.isfinite(value) else f"{value:.2f}×"


def shape(dims: tuple[int | str | None, ...] | None) -> str:
    """(1, 'N', None) → "1×N×?", () → "scalar", None → "?"."""
    if dims is None:
        return "?"
    return "×".join("?" if d is None else str(d) for d in dims) or "scalar"
