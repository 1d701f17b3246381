"""OWB023: the same weight twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from exec.arrays import Array
from exec.errors import ExternalDataError
from workbench.alignment import sample
from workbench.lint.base import Check, Finding, Subject, stored_values


class DuplicateWeights(Check):
    """Two weights of 1 kB or more hold the same bytes.

    What   Equal type, shape and values under two names.
    Why    The file is larger than it must be.
    Fix    merge-initializers keeps one.
    """

    code, title, level, fix = "OWB023", "the same weight twice", "note", "merge-initializers"

    def look(self, subject: Subject) -> Iterator[Finding]:
        groups: dict[object, list[tuple[str, Array]]] = defaultdict(list)
        for _, weight, _ in subject.weights:
            if weight.nbytes >= 1024:
                try:
                    values = stored_values(weight)
                except ExternalDataError:
                    continue
                groups[values.dtype, values.shape, sample(values)].append((weight.name, values))
        for entries in groups.values():
            first_name, first = entries[0]
            for name, values in entries[1:]:
                if first.tobytes() == values.tobytes():
                    yield self.found(f"weight {name}", f"equal to {first_name}, {first.nbytes:,} bytes")
