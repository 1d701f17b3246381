"""OWB021: weights in Constant nodes."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.lint.base import Check, Finding, Subject, at


class ConstantNodes(Check):
    """A weight is the output of a Constant node, not an initializer.

    What   A Constant node holds a tensor of 16 elements or more.
    Why    Tools that look for initializers find none: quantizers skip the layer, viewers show no weight.
    Fix    lift-constants makes it an initializer.
    """

    code, title, level, fix = "OWB021", "a weight is held in a Constant node", "warning", "lift-constants"

    def look(self, subject: Subject) -> Iterator[Finding]:
        for path, index, node in subject.nodes():
            value = node.attrs.get("value")
            if (
                node.op == "Constant"
                and not node.domain
                and value is not None
                and getattr(value, "shape", None) is not None
            ):
                size = 1
                for dim in value.shape:
                    size *= int(dim)
                if size >= 16:
                    yield self.found(at(path, index, node), f"{size:,} elements")
