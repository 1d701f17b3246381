"""Counts in sentences."""

from __future__ import annotations


def counted(count: int, what: str) -> str:
    """ "1 place", "2,340 places", "2 boxes"."""
    plural = "es" if what.endswith(("x", "s", "ch")) else "s"
    return f"{count:,} {what}{'' if count == 1 else plural}"
