"""OWB022: denormal weights."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.lint.base import Check, Finding, Subject

_MOST = 0.01


class Denormals(Check):
    """A float32 weight has many denormal elements.

    What   More than 1 % of its elements are below 1.2e-38 and not zero.
    Why    CPUs compute with them up to a hundred times slower unless the runtime flushes them to zero.
    Fix    Set them to zero before the export (`session.set_denormal_as_zero` in onnxruntime does it at run time).
    """

    code, title, level = "OWB022", "denormal numbers in a weight", "note"

    def look(self, subject: Subject) -> Iterator[Finding]:
        for weight, _, found in subject.scans:
            share = found.denormal / max(found.elements, 1)
            if share > _MOST:
                yield self.found(f"weight {weight.name}", f"{share:.1%} of its elements".replace("%", " %"))
