"""Numbers as the screen writes them: a real minus, and no zeros in an exponent."""

from __future__ import annotations

import re

_EXPONENT = re.compile(r"(?<=\d)e([+-])0*(\d+)")


def number(value: float | None, spec: str = ".4g") -> str:
    """-0.5 → "−0.5", 4.8e-07 → "4.8e−7"; None is "–"."""
    return "–" if value is None else exponents(f"{value:{spec}}").replace("-", "−")


def exponents(text: str) -> str:
    """The numbers inside a sentence: "1e-04 allowed" → "1e−4 allowed"."""
    return _EXPONENT.sub(lambda found: f"e{'−' if found[1] == '-' else ''}{found[2]}", text)
