"""Numbers as the screen writes them: a real minus, and no zeros in an exponent."""

from __future__ import annotations

import re

from exec.wording import counted
from workbench.render import units

_EXPONENT = re.compile(r"(?<=\d)e([+-])0*(\d+)")


def number(value: float | None, spec: str = ".4g") -> str:
    """-0.5 → "−0.5", 4.8e-07 → "4.8e−7"; None is "–"."""
    return "–" if value is None else exponents(f"{value:{spec}}").replace("-", "−")


def gained(count: int, what: str) -> str:
    """ "+2 nodes", "−1 node"; "no node less" for 0."""
    return f"{'+' if count > 0 else '−'}{counted(abs(count), what)}" if count else f"no {what} less"


def pointed(value: float | None) -> str:
    """For a column: four decimals, so that points stand below each other; what they cannot hold has an exponent."""
    if value is None or value == 0:
        return "–" if value is None else "0     "
    return number(value, ".4f" if 1e-3 <= abs(value) < 1e4 else ".1e")


def exponents(text: str) -> str:
    """The numbers inside a sentence: "1e-04 allowed" → "1e−4 allowed"."""
    return _EXPONENT.sub(lambda found: f"e{'−' if found[1] == '-' else ''}{found[2]}", text)


def signed(share: float | None) -> str:
    """A change as a share: -0.106 → "−10.6 %"."""
    return "–" if share is None else f"{100 * share:+.1f} %".replace("-", "−")


def decibels(value_db: float | None) -> str:
    """As `units.decibel`, with a real minus."""
    return units.decibel(value_db).replace("-", "−")
