"""OWB080: external data that is not there."""

from __future__ import annotations

from collections.abc import Iterator

from exec.errors import BenchError
from exec.ir import Weight
from workbench.lint.base import Check, Finding, Subject


class MissingData(Check):
    """A weight's bytes are in a file that is missing, too short or outside the folder.

    What   An external weight that cannot be read.
    Why    Structure can be looked at without it; nothing can run.
    Fix    Put the data file beside the model.
    """

    code, title, level = "OWB080", "external data cannot be read", "error"

    def look(self, subject: Subject) -> Iterator[Finding]:
        for _, weight, _ in subject.weights:
            source = weight._values
            if isinstance(source, Weight) and source.is_external:
                try:
                    source.place()
                except BenchError as error:
                    yield self.found(f"weight {weight.name}", f"{error.what}: {error.why}", error.hint)
