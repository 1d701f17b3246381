"""OWB022: denormal weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exec.errors import ExternalDataError
from workbench.lint.base import Check, Finding, Subject, stored_values


class Denormals(Check):
    """A float32 weight has many denormal elements.

    What   More than 1 % of its elements are below 1.2e-38 and not zero.
    Why    CPUs compute with them up to a hundred times slower unless the runtime flushes them to zero.
    Fix    Set them to zero before the export (`session.set_denormal_as_zero` in onnxruntime does it at run time).
    """

    code, title, level = "OWB022", "denormal numbers in a weight", "note"

    def look(self, subject: Subject) -> Iterator[Finding]:
        tiny = np.finfo(np.float32).tiny
        for _, weight, _ in subject.weights:
            try:
                values = stored_values(weight)
            except ExternalDataError:
                continue
            if values.dtype == np.float32 and values.size:
                magnitude = np.abs(values)
                share = float(((magnitude < tiny) & (magnitude > 0)).mean())
                if share > 0.01:
                    yield self.found(f"weight {weight.name}", f"{share:.1%} of its elements".replace("%", " %"))
