"""How many bytes a rewrite may add to the file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Ledger:
    """The net growth of constants, and the limit it is held to.

    allowance   bytes the file may grow by in all; by default next to nothing
    balance     bytes freed (positive) or added (negative) so far
    """

    allowance: int = 4096
    balance: int = 0

    def affords(self, added: int, freed: int = 0) -> bool:
        """Whether constants of `added` bytes may be made when `freed` bytes go with them."""
        return added <= freed or self.balance - added + freed >= -self.allowance

    def book(self, added: int, freed: int = 0) -> None:
        self.balance += freed - added
