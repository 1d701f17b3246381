"""Sizes with names too long for a cell: one short sign each, the same sign for the same name, and a legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.render import units

if TYPE_CHECKING:
    from exec.ir import Model

_LONGEST = 8


class Symbols:
    """Signs of one model: a name of up to eight plain characters stays, others become ?0, ?1, …"""

    def __init__(self, model: Model | None = None) -> None:
        self.signs: dict[str, str] = {}
        for info in (*model.inputs, *model.outputs) if model is not None else ():
            self.shape(info.shape)

    def sign(self, name: str) -> str:
        """What stands for a name."""
        if len(name) <= _LONGEST and name.isidentifier():
            return name
        return self.signs.setdefault(name, f"?{len(self.signs)}")

    def shape(self, dims: Sequence[int | str | None] | None) -> str:
        """ "?0×3×?1×?2"; a size nobody knows is "?"."""
        if dims is None:
            return units.shape(None)
        return units.shape(tuple(self.sign(d) if isinstance(d, str) else d for d in dims))

    def legend(self) -> list[tuple[str, str]]:
        """(sign, name) in the order they came."""
        return [(sign, name) for name, sign in self.signs.items()]
