"""OWB021: weights in Constant nodes."""

from __future__ import annotations

from collections.abc import Iterator

from exec.budget import element_count
from exec.wording import counted
from workbench.lint.base import Check, Finding, Subject, at

_LEAST = 16


class ConstantNodes(Check):
    """Weights are the outputs of Constant nodes, not initializers.

    What   Constant nodes hold tensors of 16 elements or more; one finding for all of them.
    Why    The model runs all the same, but tools that look for initializers find none: quantizers skip the layer, viewers show no weight.
    Fix    lift-constants makes them initializers.
    """

    code, title, level, fix = "OWB021", "weights are held in Constant nodes", "note", "lift-constants"

    def look(self, subject: Subject) -> Iterator[Finding]:
        held = []
        for path, index, node in subject.nodes():
            value = node.attrs.get("value")
            shape = getattr(value, "shape", None)
            if node.op == "Constant" and not node.domain and shape is not None:
                size = element_count(shape)
                if size >= _LEAST:
                    held.append((size, at(path, index, node)))
        if held:
            _, largest = max(held, key=lambda item: item[0])
            yield self.found(
                "model",
                f"{counted(len(held), 'Constant node')}, {sum(size for size, _ in held):,} elements; the largest is {largest}",
            )
