"""OWB031: nodes without names, or with one name for several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from exec.wording import counted
from workbench.lint.base import Check, Finding, Subject


class NodeNames(Check):
    """Nodes that cannot be told apart by name.

    What   Nodes without a name, or several of one name in a graph.
    Why    Profiles, selectors and reports address nodes by name.
    Fix    `owb edit rename` or a re-export.
    """

    code, title, level = "OWB031", "nodes cannot be told apart by name", "note"

    def look(self, subject: Subject) -> Iterator[Finding]:
        for path, graph in subject.graphs:
            place = f"graph {path}" if path else "file"
            names = Counter(n.name for n in graph.nodes if n.op != "Constant")
            if names[""]:
                yield self.found(place, f"{counted(names[''], 'node')} {'has' if names[''] == 1 else 'have'} no name")
            repeated = [name for name, n in names.items() if name and n > 1]
            if repeated:
                yield self.found(place, f"{len(repeated):,} names stand for several nodes, for example {repeated[0]}")
