"""The memory that one run's values take while they are made one by one, held against what the model's size lets expect.

A 200-byte model can double a value sixty times. What is computed is therefore limited by what goes in: 128 MiB, and some times the
bytes of the weights and inputs, unless the user chose a number.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from exec.arrays import Array, Value
from exec.budget import Limits, bytes_text, exceeded

BASE = 128 << 20
"""What any model may take."""

_current = threading.local()


class Footprint:
    """Bytes alive in one run. Memory counts once, however many views of it there are, and until the last of them is gone.

    limit  bytes; None is no limit
    """

    __slots__ = ("_owners", "alive", "limit")

    def __init__(self, limit: int | None = None) -> None:
        self.limit, self.alive = limit, 0
        # Who owns memory: how many values show it, and its bytes. Values that are counted keep their owner alive.
        self._owners: dict[int, list[int]] = {}

    def begin(self, limit: int | None) -> None:
        """Another run: nothing is alive."""
        self.limit, self.alive = limit, 0
        self._owners.clear()

    def made(self, values: Sequence[Value], inputs: Sequence[Value] = ()) -> int:
        """Count new values, and return their bytes; raises `BudgetExceeded`, to which whoever runs the node adds where.

        inputs  what they were made of: a view of it takes no memory
        """
        before = self.alive
        for value in values:
            self._count(value, inputs)
        self.ask(0)
        return self.alive - before

    def _count(self, value: Value, inputs: Sequence[Value]) -> None:
        if isinstance(value, list | tuple):
            for one in value:
                self._count(one, inputs)
        elif isinstance(value, np.ndarray):
            owner = _owner(value)
            known = self._owners.get(id(owner))
            if known is not None:
                known[0] += 1
            elif value.base is None or not any(_shows(x, owner) for x in inputs):
                size = size_of(owner)
                self._owners[id(owner)] = [1, size]
                self.alive += size

    def gone(self, value: Value) -> None:
        """A value that nobody reads any more."""
        if isinstance(value, list | tuple):
            for one in value:
                self.gone(one)
        elif isinstance(value, np.ndarray):
            owner = id(_owner(value))
            known = self._owners.get(owner)
            if known is not None:
                known[0] -= 1
                if not known[0]:
                    self.alive -= known[1]
                    del self._owners[owner]

    @contextmanager
    def aside(self) -> Iterator[None]:
        """While it lasts, only what is made in it adds to what was alive; afterwards it is forgotten."""
        alive, owners = self.alive, self._owners
        self._owners = {}
        try:
            yield
        finally:
            self.alive, self._owners = alive, owners

    def ask(self, size: int) -> None:
        """Raise `BudgetExceeded` if `size` more bytes are too many."""
        if self.limit is not None and self.alive + size > self.limit:
            raise exceeded("bytes_alive", bytes_text(self.alive + size), bytes_text(self.limit), "")


def _owner(array: Array) -> Array:
    """The array whose memory a view shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _shows(value: Value, owner: Array) -> bool:
    """Whether a value, or one of a sequence, shows the memory of `owner`."""
    if isinstance(value, np.ndarray):
        return _owner(value) is owner
    return isinstance(value, list | tuple) and any(_shows(one, owner) for one in value)


def allowance(limits: Limits, given_bytes: int, filled_bytes: int = 0) -> int | None:
    """What the values of a run may take, for `given_bytes` of weights and inputs, and weights that a single number fills."""
    if limits.growth is None or limits.bytes_alive is None:
        return limits.bytes_alive
    return min(limits.bytes_alive, BASE + limits.growth * given_bytes + filled_bytes)


def size_of(array: Array) -> int:
    """The bytes an array owns: a view of what is no array owns none, a text its characters."""
    if array.dtype.kind == "O":
        return array.nbytes + sum(len(text) for text in array.reshape(-1) if isinstance(text, str | bytes))
    return array.nbytes if array.base is None else 0


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
