"""OWB070: training leftovers."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.lint.base import Check, Finding, Subject, at, attribute


class TrainingMode(Check):
    """A BatchNormalization in training mode.

    What   training_mode = 1, or before opset 14 more than one output that is read.
    Why    It normalises by the batch's own statistics: results depend on what else is in the batch, and no fusion applies.
    Fix    Export after model.eval().
    """

    code, title, level = "OWB070", "BatchNormalization in training mode", "error"

    def look(self, subject: Subject) -> Iterator[Finding]:
        for path, index, node in subject.nodes():
            if node.op == "BatchNormalization" and (
                attribute(node, "training_mode", 0) or any(t.outputs for t in node.outputs[1:])
            ):
                yield self.found(
                    at(path, index, node), "its statistics come from the batch", "export after model.eval()"
                )
