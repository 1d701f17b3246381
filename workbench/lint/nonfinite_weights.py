"""OWB020: NaN and infinity in weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exec.arrays import Array
from exec.errors import ExternalDataError
from workbench.lint.base import Check, Finding, Subject, stored_values


class NonfiniteWeights(Check):
    """A floating weight holds NaN or infinity.

    What   At least one element is not finite. A constant that is −inf throughout or a mask of 0 and −inf is meant and not reported.
    Why    Every output that reads it is lost, often only for some inputs.
    Fix    Look at the training run: the checkpoint is broken.
    """

    code, title, level = "OWB020", "NaN or infinity in a weight", "error"

    def look(self, subject: Subject) -> Iterator[Finding]:
        for _, weight, readers in subject.weights:
            try:
                values = stored_values(weight)
            except ExternalDataError:
                continue
            if values.dtype.kind not in "fV" or not values.size:
                continue
            wide = values if values.dtype.kind == "f" else values.astype(np.float32)
            lost = ~np.isfinite(wide)
            if lost.any() and not _is_mask(wide, lost):
                nan = int(np.isnan(wide).sum())
                yield self.found(
                    f"weight {weight.name}",
                    f"{nan:,} NaN, {int(lost.sum()) - nan:,} infinite; read by {', '.join(readers[:2])}",
                )


def _is_mask(values: Array, lost: Array) -> bool:
    return bool((values[lost] == -np.inf).all() and not values[~lost].any())
