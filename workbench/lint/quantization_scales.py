"""OWB060: scales that cannot be meant."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exec.ir import constant_value
from workbench.lint.base import Check, Finding, Subject, at

_OPS = ("QuantizeLinear", "DequantizeLinear")


class QuantizationScales(Check):
    """A Q or DQ scale that is zero, negative, not finite or denormal.

    What   The scale of a QuantizeLinear or DequantizeLinear node.
    Why    The value is lost without a word; some runtimes divide by it.
    Fix    Calibrate again: the tensor was constant or held NaN during calibration.
    """

    code, title, level = "OWB060", "a quantization scale cannot be meant", "error"

    def look(self, subject: Subject) -> Iterator[Finding]:
        for path, index, node in subject.nodes():
            if node.op in _OPS and not node.domain and len(node.inputs) > 1:
                scale = constant_value(node.inputs[1])
                if scale is None or scale.dtype.kind != "f":
                    continue
                wide = np.asarray(scale, np.float64)
                bad = int((~np.isfinite(wide) | (wide <= np.finfo(np.float32).tiny)).sum())
                if bad:
                    yield self.found(
                        at(path, index, node), f"{bad} of {wide.size} scales are zero, negative or not finite"
                    )
