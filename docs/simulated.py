"""Colours of a picture as eyes without one kind of cone see them, or as a printer without colour prints them."""

from __future__ import annotations

import re

_SIGHT = {
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "grey": ((0.2126, 0.7152, 0.0722),) * 3,
}
"""Linear RGB; the first two are Machado, Oliveira and Fernandes (2009) at full severity."""


def simulated(svg: str, sight: str) -> str:
    """The same picture with every colour changed."""
    return re.sub(r"#[0-9a-fA-F]{6}\b", lambda found: seen(found[0], sight), svg)


def seen(color: str, sight: str) -> str:
    """One colour, "#rrggbb"."""
    linear = [_linear(int(color[k : k + 2], 16) / 255) for k in (1, 3, 5)]
    mixed = [sum(a * b for a, b in zip(row, linear, strict=True)) for row in _SIGHT[sight]]
    return "#" + "".join(f"{round(255 * _encoded(min(max(c, 0.0), 1.0))):02x}" for c in mixed)


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def _encoded(value: float) -> float:
    return value * 12.92 if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055
