"""Weights in other layouts: made once per session, shared between its plans."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from exec.arrays import Array


class Packs:
    """Weights in the layout a step wants, made once per session and shared between its plans."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}
        self._held: list[Any] = []  # what the keys' ids belong to must stay alive

    def get(self, source: Array, recipe: Hashable, make: Callable[[], Any]) -> Any:
        """What `make()` returns for the constant `source`, from an earlier call with the same source and recipe if any."""
        key = (id(source), recipe)
        if key not in self._made:
            self._made[key] = make()
            self._held.append(source)
        return self._made[key]

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return sum(array.nbytes for made in self._made.values() for array in _arrays(made))


def _arrays(made: Any) -> Iterable[Array]:
    if isinstance(made, np.ndarray):
        yield made
    elif isinstance(made, (tuple, list)):
        for part in made:
            yield from _arrays(part)
