"""OWB050: an old opset."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.lint.base import Check, Finding, Subject

_LEAST = 13


class OldOpset(Check):
    """The model imports an opset below 13.

    What   ai.onnx below version 13.
    Why    Per-channel DequantizeLinear, HardSwish, LayerNormalization and other fusions need a newer one.
    Fix    `owb optimize --opset 17` converts and then fuses.
    """

    code, title, level = "OWB050", "the opset is old", "note"

    def look(self, subject: Subject) -> Iterator[Finding]:
        if 0 < subject.model.opset < _LEAST:
            yield self.found(
                "file", f"opset {subject.model.opset}", "`owb optimize --opset 17` converts, then fuses more"
            )
