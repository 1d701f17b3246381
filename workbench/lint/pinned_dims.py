"""OWB041: dims that are open by name only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from passes.dims import Dim, Monomial
from passes.region import Workspace
from workbench.lint.base import Check, Finding, Subject, at


class PinnedDims(Check):
    """An input's dim is open, and a Reshape takes one size of it only.

    What   Both sides of a Reshape have equally many elements for one size of the symbol and no other.
    Why    An exporter traced one run and wrote its batch or its length into the model: any other size fails when it runs.
    Fix    Export with sizes asked of the tensor, or say what is true: `owb convert --dim NAME=SIZE`.
    """

    code, title, level = "OWB041", "an open dim fits one size only", "warning"

    def look(self, subject: Subject) -> Iterator[Finding]:
        symbols = {d for info in subject.model.inputs for d in info.shape or () if isinstance(d, str)}
        if not symbols:
            return
        told: set[str] = set()
        for region in Workspace(subject.model).regions:
            for index, node in enumerate(region.nodes()):
                if not region.is_plain(node, "Reshape") or not region.has(node, 1):
                    continue
                shape, target = region.shape(node.inputs[0]), region.elements(node.inputs[1])
                if shape is None or target is None or any(d in (0, -1) for d in target):
                    continue
                symbol, size = _only(_product(shape), _product(target))
                if symbol in symbols and symbol not in told:
                    told.add(symbol)
                    yield self.found(at("", index, node), f"{symbol} must be {size}")


def _product(dims: Iterable[Dim]) -> Dim:
    out: Dim = 1
    for dim in dims:
        out = out * dim
    return out


def _only(given: Dim, wanted: Dim) -> tuple[str, int]:
    """The symbol and its size for which both are equal, if there is exactly one; ("", 0) otherwise."""
    (one, left), (two, right) = _monomial(given), _monomial(wanted)
    if not left or not right:
        return "", 0
    here, there = Counter(one), Counter(two)
    open_here, open_there = here - there, there - here
    for side, factor, other in ((open_here, left, right), (open_there, right, left)):
        if side.total() == 1 and (open_here.total() + open_there.total()) == 1 and other % factor == 0:
            (atom,) = side
            return ("", 0) if atom.args else (atom.name, other // factor)
    return "", 0


def _monomial(dim: Dim) -> tuple[Monomial, int]:
    """A product of atoms and its factor; 0 where it is a sum."""
    if isinstance(dim, int):
        return (), dim
    if len(dim.terms) != 1:
        return (), 0
    return next(iter(dim.terms.items()))
