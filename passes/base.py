"""What a rewrite is: it finds places, and for each says what it would change or why it does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from exec.ir import Node
from passes.patch import Patch

if TYPE_CHECKING:
    from passes.pattern import Match, Op
    from passes.region import Region


OVERRIDABLE = "is also an input, so a caller may override it (`owb edit inputs-to-weights`)"

EVERY = "*"
"""In `roots`: nodes of every op."""


class Safety(Enum):
    """How far a rewrite may move the numbers; it is the tolerance of tests and of verification.

    EXACT        the same values, bit for bit with kernels of one fixed algorithm (the sign of a zero and a NaN's payload aside)
    ROUNDING     the same reals, computed in another order
    APPROXIMATE  a formula that is near; the rewrite names its bound
    """

    EXACT = "exact"
    ROUNDING = "rounding"
    APPROXIMATE = "approximate"

    def tolerance(self, dtype: np.dtype[np.generic], whole: bool = False, bound: float = 0.0) -> float:
        """The largest difference allowed, as a share of the value's range; `whole` for a model of many nodes."""
        if self is Safety.EXACT or dtype.kind in "iub":
            return 0.0
        narrow = dtype.itemsize <= 2
        rounding = (1e-2 if narrow else 1e-4) if whole else (2e-3 if narrow else 1e-5)
        return max(rounding, bound) if self is Safety.APPROXIMATE else rounding


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a rewrite did not happen where it nearly could.

    reason  "the Conv's output is also read by Add_20"
    node    the node the reason is about
    rule    the rewrite's id
    """

    reason: str
    node: Node
    rule: str = ""


def not_constant(tensor: Any) -> str:
    """Why the value cannot be folded, in words."""
    overridable = getattr(tensor, "default", None) is not None
    why = (
        "is also an input, so a caller may override it (`owb edit inputs-to-weights`)"
        if overridable
        else "is not a constant"
    )
    return f"{tensor.name or 'an input'} {why}"


class Rewrite:
    """A local change that keeps every invariant. The class docstring is its page: What, Why, When, Not, Safety, Source.

    id        what reports and command lines call it, verb-object
    roots     op types it starts from; read from the pattern where there is one
    domain    of the root ops
    needs     the oldest opset whose ops and attributes the result uses
    targets   the runtimes it pays on; empty for all
    bound     with APPROXIMATE, the largest error as a share of the range
    finite_only  it may change what NaN, infinities and overflowing numbers give; all others must give the same for these, too
    """

    id: ClassVar[str] = ""
    safety: ClassVar[Safety] = Safety.EXACT
    roots: ClassVar[tuple[str, ...]] = ()
    domain: ClassVar[str] = ""
    needs: ClassVar[int] = 1
    targets: ClassVar[tuple[str, ...]] = ()
    bound: ClassVar[float] = 0.0
    finite_only: ClassVar[bool] = False
    pattern: ClassVar[Op | None] = None
    BEFORE: ClassVar[str] = ""
    AFTER: ClassVar[str] = ""

    def find(self, region: Region) -> Iterator[Patch | Refusal]:
        """Every place in `region` where the rewrite applies or nearly does."""
        ops = self.starts()
        for node in region.nodes():
            if node.op in ops or EVERY in ops:
                found = self.visit(node, region)
                if found is not None:
                    yield found

    @classmethod
    def starts(cls) -> tuple[str, ...]:
        """The op types of the nodes `visit` wants to see."""
        return cls.roots or (cls.pattern.ops if cls.pattern is not None else ())

    def visit(self, node: Node, region: Region) -> Patch | Refusal | None:
        """What the rewrite would do at `node`, if it is a node of the specification or of `domain`, alive in this graph."""
        if not region.is_plain(node) if not self.domain else node.domain != self.domain:
            return None
        return self.consider(node, region)

    def consider(self, node: Node, region: Region) -> Patch | Refusal | None:
        """What the rewrite would do at `node`; the opset and the target are checked here."""
        found = self.at(node, region)
        if found is None:
            return None
        if isinstance(found, Refusal):
            return Refusal(found.reason, found.node, self.id)
        if region.opset < self.needs:
            return Refusal(
                f"the result needs opset {self.needs}, the model has {region.opset} (`--opset {self.needs}` converts it)",
                node,
                self.id,
            )
        if self.targets and region.target not in self.targets:
            return Refusal(f"it does not pay on {region.target}, only on {', '.join(self.targets)}", node, self.id)
        return found

    def at(self, node: Node, region: Region) -> Patch | Refusal | None:
        """What the rewrite would do at `node`: a patch, the reason of a near miss, or None where it has no business."""
        if self.pattern is None:
            raise NotImplementedError(f"{type(self).__name__} has neither a pattern nor `at`")
        match = self.pattern.match(node, region)
        if match is None:
            return None
        if match.objection is not None:
            return match.objection
        return self.rewrite(match, region)

    def rewrite(self, match: Match, region: Region) -> Patch | Refusal | None:
        """The patch for a match of `pattern`."""
        raise NotImplementedError(f"{type(self).__name__} has a pattern but no `rewrite`")

    def patch(self, region: Region, anchor: Node, *others: Node, note: str = "") -> Patch:
        """An empty patch of this rewrite at `anchor`, standing for it and the `others`."""
        sources = tuple(dict.fromkeys((*others, anchor)))
        return Patch(self.id, region, anchor, sources, note=note)

    @classmethod
    def page(cls) -> dict[str, str]:
        """The docstring by heading: "" is the first sentence, then What, Why, When, Not, Safety, Source."""
        import inspect

        sections: dict[str, str] = {}
        heading = ""
        for line in inspect.cleandoc(cls.__doc__ or "").splitlines():
            word, _, rest = line.partition(" ")
            if word in HEADINGS and line[: len(word)] == word:
                heading = word
                sections[heading] = rest.strip()
            elif line.strip():
                sections[heading] = f"{sections.get(heading, '')} {line.strip()}".strip()
        return sections


HEADINGS: Sequence[str] = ("What", "Why", "When", "Not", "Safety", "Source")
