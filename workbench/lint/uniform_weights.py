"""OWB024: large weights that hold one number."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from exec.errors import ExternalDataError
from exec.ir import Constant
from exec.ir.streaming import parts
from exec.ir.weights import SparseWeight
from workbench.lint.base import Check, Finding, Subject, stored

_LEAST_BYTES = 1 << 20


class UniformWeights(Check):
    """A weight of 1 MB or more holds one number throughout.

    What   Every element has the same bytes.
    Why    An exporter expanded a scalar or a mask: the file, and what is read from memory at every run, are larger than they must be.
    Fix    Keep the scalar and let the operator broadcast it, or make it with ConstantOfShape.
    """

    code, title, level = "OWB024", "a large weight holds one number", "note"

    def look(self, subject: Subject) -> Iterator[Finding]:
        for _, weight, readers in subject.weights:
            is_dense = not isinstance(weight._values, SparseWeight) and weight.dtype != object
            if weight.nbytes >= _LEAST_BYTES and is_dense:
                with contextlib.suppress(ExternalDataError):  # its own check says so
                    if _is_uniform(weight):
                        number = next(parts(stored(weight)))[0]
                        yield self.found(
                            f"weight {weight.name}",
                            f"{number!s}, {weight.nbytes:,} bytes; read by {', '.join(readers[:2])}",
                        )


def _is_uniform(weight: Constant) -> bool:
    """Whether all elements are the same bytes; most weights show in their first part that they are not."""
    first = b""
    for part in parts(stored(weight)):
        elements = np.ascontiguousarray(part).view(np.uint8).reshape(part.size, -1)
        first = first or elements[0].tobytes()
        if not (elements == np.frombuffer(first, np.uint8)).all():
            return False
    return bool(first)
