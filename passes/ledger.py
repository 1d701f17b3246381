"""How many bytes a rewrite may add to the file."""

from __future__ import annotations

from dataclasses import dataclass, field

STEP = 4
"""A larger limit is reached in steps, each so many times the last."""


@dataclass(slots=True)
class Ledger:
    """The net growth of constants, and the limit it is held to.

    A limit is not spent on whatever comes first: what fits a small allowance is done before what needs a larger one, and what only writes a
    repeated number out comes last, since other rules do more with the one number. So more allowed growth goes on where less had to stop.

    allowance   bytes the file may grow by for now
    limit       bytes it may grow by in all; without one, all at once
    balance     bytes freed (positive) or added (negative) so far
    short       whether something had to wait since the last step
    last        whether nothing else wants the bytes any more
    """

    allowance: int = 4096
    limit: int | None = None
    balance: int = 0
    short: bool = False
    last: bool = field(init=False)

    def __post_init__(self) -> None:
        self.last = self.limit is None

    def affords(self, added: int, freed: int = 0) -> bool:
        """Whether constants of `added` bytes may be made when `freed` bytes go with them."""
        fits = added <= freed or self.balance - added + freed >= -self.allowance
        self.short = self.short or not fits
        return fits

    def wait(self) -> None:
        """Note that something could be done when nothing else wants the bytes."""
        self.short = True

    def book(self, added: int, freed: int = 0) -> None:
        self.balance += freed - added

    def widen(self) -> bool:
        """A step further, if something had to wait; False where the limit is reached."""
        if self.limit is None or self.last or not self.short:
            return False
        self.short = False
        if self.allowance < self.limit:
            self.allowance = min(self.limit, STEP * max(self.allowance, 512))
        else:
            self.last = True
        return True
