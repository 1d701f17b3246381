"""Which neighbouring operations run as one: each pattern in a file of its own."""

from __future__ import annotations

from exec.lowering.units import Units


def fuse_units(units: Units, jit: bool) -> None:
    """Merge what runs better together."""
