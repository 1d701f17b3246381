"""OWB025: what nobody reads."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.lint.base import Check, Finding, Subject, at


class DeadNodes(Check):
    """A node whose outputs nothing reads.

    What   None of its outputs is read by a node, a subgraph or the graph's outputs.
    Why    It costs time in runtimes that do not remove it, and hides what the model does.
    Fix    remove-dead-code removes it.
    """

    code, title, level, fix = "OWB025", "a node computes what nobody reads", "note", "remove-dead-code"

    def look(self, subject: Subject) -> Iterator[Finding]:
        final = {id(t) for _, graph in subject.graphs for t in graph.outputs}
        for path, index, node in subject.nodes():
            if node.outputs and not any(t.outputs or id(t) in final for t in node.outputs):
                yield self.found(
                    at(path, index, node), f"nothing reads {', '.join(t.name for t in node.outputs if t.name)}"
                )
