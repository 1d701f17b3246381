"""OWB010: double precision."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.lint.base import Check, Finding, Subject, at


class Float64(Check):
    """A node computes in float64.

    What   A node's first output is float64.
    Why    Exporters slip into double precision through a Python float; it halves the speed, and many runtimes have no kernel for it.
    Fix    Cast the constant that brings it in to float32 before the export.
    """

    code, title, level = "OWB010", "computes in float64", "warning"

    def look(self, subject: Subject) -> Iterator[Finding]:
        for path, index, node in subject.nodes():
            if node.outputs and subject.shapes.get(id(node.outputs[0]), ("", None))[0] == "float64":
                yield self.found(at(path, index, node), f"{node.op} makes float64")
