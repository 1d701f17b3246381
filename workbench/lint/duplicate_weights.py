"""OWB023: the same weight twice."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator

from exec.errors import ExternalDataError
from exec.ir import Constant
from exec.ir.streaming import equal, sampled
from workbench.lint.base import Check, Finding, Subject, stored


class DuplicateWeights(Check):
    """Two weights of 1 kB or more hold the same bytes.

    What   Equal type, shape and values under two names.
    Why    The file is larger than it must be.
    Fix    merge-duplicate-initializers keeps one.
    """

    code, title, level, fix = "OWB023", "the same weight twice", "note", "merge-duplicate-initializers"

    def look(self, subject: Subject) -> Iterator[Finding]:
        groups: dict[object, list[Constant]] = defaultdict(list)
        for _, weight, _ in subject.weights:
            if weight.nbytes >= 1024:
                values = stored(weight)
                with contextlib.suppress(ExternalDataError):  # its own check says so
                    groups[str(values.dtype), tuple(values.shape), sampled(values)].append(weight)
        total = sum(len(group) - 1 for group in groups.values())
        done = 0
        for first, *others in groups.values():
            for weight in others:
                subject.step(done, total, "comparing weights that look the same")
                done += 1
                if equal(stored(first), stored(weight)):
                    yield self.found(f"weight {weight.name}", f"equal to {first.name}, {first.nbytes:,} bytes")
