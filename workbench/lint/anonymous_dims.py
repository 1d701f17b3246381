"""OWB040: dims that are unknown."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.lint.base import Check, Finding, Subject

_ANONYMOUS = ("?", "unk__", "-1", "None")


class AnonymousDims(Check):
    """An input has a dim without a size and without a meaningful name.

    What   A dim is empty, ?, unk__N, 0 or negative.
    Why    Nobody can tell which dims are equal or what sizes are meant; optimizers stop at it.
    Fix    `owb edit set-dim` gives it a name or a size.
    """

    code, title, level = "OWB040", "an input's dim has no name", "note"

    def look(self, subject: Subject) -> Iterator[Finding]:
        for info in subject.model.inputs:
            if info.shape is None:
                yield self.found(f"input {info.name}", "not even the rank is known")
                continue
            for axis, dim in enumerate(info.shape):
                if (
                    dim is None
                    or (isinstance(dim, int) and dim <= 0)
                    or (isinstance(dim, str) and (not dim or dim.startswith(_ANONYMOUS)))
                ):
                    yield self.found(
                        f"input {info.name}", f"dim {axis} is {dim if dim not in (None, '') else 'not given'}"
                    )
