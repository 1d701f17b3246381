"""OWB020: NaN and infinity in weights."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.lint.base import Check, Finding, Subject


class NonfiniteWeights(Check):
    """A floating weight holds NaN or infinity.

    What   At least one element is not finite. A constant that is −inf throughout or a mask of 0 and −inf is meant and not reported.
    Why    Every output that reads it is lost, often only for some inputs.
    Fix    Look at the training run: the checkpoint is broken.
    """

    code, title, level = "OWB020", "NaN or infinity in a weight", "error"

    def look(self, subject: Subject) -> Iterator[Finding]:
        for weight, readers, found in subject.scans:
            if (found.nan or found.infinite) and not found.is_mask:
                yield self.found(
                    f"weight {weight.name}",
                    f"{found.nan:,} NaN, {found.infinite:,} infinite; read by {', '.join(readers[:2])}",
                )
