"""The memory that one run's values take while they are made one by one, held against what the model's size lets expect.

A 200-byte model can double a value sixty times. What is computed is therefore limited by what goes in: 128 MiB, and some times the
bytes of the weights and inputs, unless the user chose a number.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from exec.arrays import Value
from exec.budget import Limits, bytes_text, exceeded

BASE = 128 << 20
"""What any model may take."""

_current = threading.local()


class Footprint:
    """Bytes alive in one run.

    limit  bytes; None is no limit
    """

    __slots__ = ("alive", "limit")

    def __init__(self, limit: int | None = None) -> None:
        self.limit, self.alive = limit, 0

    def made(self, values: list[Value]) -> int:
        """Count new values, and return their bytes; raises `BudgetExceeded`, to which whoever runs the node adds where."""
        size = 0
        for value in values:
            size += size_of(value)
        self.alive += size
        self.ask(0)
        return size

    def gone(self, value: Value) -> None:
        """A value that nobody reads any more."""
        self.alive -= size_of(value)

    def ask(self, size: int) -> None:
        """Raise `BudgetExceeded` if `size` more bytes are too many."""
        if self.limit is not None and self.alive + size > self.limit:
            raise exceeded("bytes_alive", bytes_text(self.alive + size), bytes_text(self.limit), "")


def allowance(limits: Limits, given_bytes: int, filled_bytes: int = 0) -> int | None:
    """What the values of a run may take, for `given_bytes` of weights and inputs, and weights that a single number fills."""
    if limits.growth is None or limits.bytes_alive is None:
        return limits.bytes_alive
    return min(limits.bytes_alive, BASE + limits.growth * given_bytes + filled_bytes)


def size_of(value: Value) -> int:
    """The bytes a value owns: a view owns none, a text its characters."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            return value.nbytes + sum(len(text) for text in value.reshape(-1) if isinstance(text, str | bytes))
        return value.nbytes if value.base is None else 0
    if isinstance(value, list | tuple):
        return sum(map(size_of, value))
    return 0


@contextmanager
def counting(footprint: Footprint) -> Iterator[Footprint]:
    """While it lasts, kernels of this thread ask `footprint` before they make something large."""
    before = getattr(_current, "footprint", None)
    _current.footprint = footprint
    try:
        yield footprint
    finally:
        _current.footprint = before


def current() -> Footprint | None:
    """The footprint of the run this thread is in."""
    return getattr(_current, "footprint", None)
